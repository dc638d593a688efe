"""From a document's text to passages of about equal length, on sentence boundaries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from robust_qa import sentences

# Thai to Myanmar, kana, and Han: written without spaces, so that each character counts as a word. A run
# without a space ends after 64 characters, lest a megabyte of base64 be one word.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]{{1,64}}")


@dataclass(frozen=True, slots=True)
class Cut:
    """How to cut: passages of about `words` words, each repeating `overlap` sentences of the one before."""

    words: int = 100
    overlap: int = 0

    def __call__(self, text: str) -> list[str]:
        """The passages of `text`, in order; each is a slice of it.

        A text of up to one and a half times `words` stays whole. A sentence of more than twice `words` is
        cut between words. No passage of a text that is cut has less than a quarter of `words` of its own.
        """
        text = text.strip()
        if _count(text) <= 1.5 * self.words:
            return [text] if text else []
        pieces = list(self._pieces(text))
        return [text[pieces[first][0] : pieces[last - 1][1]] for first, last in self._runs(pieces)]

    def _pieces(self, text: str) -> Iterator[tuple[int, int, int]]:
        """(start, end, words) of each sentence, the overlong ones in parts."""
        for start, end in sentences(text):
            words = [match.span() for match in _WORD.finditer(text, start, end)]
            step = self.words if len(words) > 2 * self.words else len(words)
            for i in range(0, len(words), step):
                part = words[i : i + step]
                yield part[0][0], part[-1][1], len(part)

    def _runs(self, pieces: list[tuple[int, int, int]]) -> list[tuple[int, int]]:
        """Half-open ranges of `pieces`, each a passage, closed where that comes nearest to `words`."""
        runs: list[tuple[int, int]] = []
        first, total, fresh = 0, 0, 0  # where the open passage begins, its words, those not repeated
        for i, (_, _, count) in enumerate(pieces):
            if fresh >= self.words / 4 and total + count / 2 > self.words:
                runs.append((first, i))
                first, total, fresh = self._repeat(pieces, i)
            total += count
            fresh += count
        if runs and fresh < self.words / 4:
            runs[-1] = (runs[-1][0], len(pieces))
        else:
            runs.append((first, len(pieces)))
        return runs

    def _repeat(self, pieces: list[tuple[int, int, int]], end: int) -> tuple[int, int, int]:
        """Where the passage after `end` begins, and how many words it repeats: at most half of a passage."""
        first, total = end, 0
        while end - first < self.overlap and total + pieces[first - 1][2] <= self.words / 2:
            first -= 1
            total += pieces[first][2]
        return first, total, 0


def _count(text: str) -> int:
    return len(_WORD.findall(text))
