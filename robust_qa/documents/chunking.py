"""From a document's text to passages of about equal length, on sentence boundaries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from ..kit.text import sentences
from .headings import Section

# Thai to Myanmar, kana, and Han: written without spaces, so that each character counts as a word. In a run without
# a space 64 characters count as one, lest a megabyte of base64 be one word, and no run of up to 16 of these is cut.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]{{1,64}}")
_RUN = re.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]{{1,{16 * 64}}}")
# In a text without marks, a short line between blank ones that no stop ends is taken for a heading.
_LONGEST_HEADING = 12  # words
_PARAGRAPH_ENDS = re.compile(r"[ \t]*\n[ \t]*\n")
_STOPPED = re.compile(r"[.!?…。！？][\"'”’)\]»*_]*(?:\[[^\[\]\n.!?…]{1,30}\])*\Z")


@dataclass(frozen=True, slots=True)
class _Piece:
    """A sentence or a part of one, with the headings right before it: what no passage divides."""

    start: int
    end: int
    words: int
    section: Section


@dataclass(frozen=True, slots=True)
class Cut:
    """How to cut: passages of about `words` words, each repeating `overlap` sentences of the one before."""

    words: int = 100
    overlap: int = 0

    def __call__(self, text: str) -> list[str]:
        """The passages of `text`, in order; each is a slice of it.

        A text of up to one and a half times `words` stays whole. A sentence of more than twice `words` is
        cut between words. No passage of a text that is cut has less than a quarter of `words` of its own.
        A heading stays with what follows.
        """
        return [passage for _, passage in self.sections([Section("", text)])]

    def sections(self, sections: Iterable[Section]) -> Iterator[tuple[list[str], str]]:
        """The passages of a text in sections, each with the titles of the headings that all of it stands under.

        A passage begins with a section; only sections of less than a quarter of `words` share one. Of a text
        that stays whole no titles are told: it has its headings itself.
        """
        counted = [(section, _count(section.head + section.body)) for section in sections]
        if sum(count for _, count in counted) <= 1.5 * self.words:
            if text := _text(section for section, _ in counted).strip():
                yield [], text
            return
        for group in self._groups(counted):
            text = _text(group)
            pieces = list(self._pieces(group))
            for first, last in self._runs(pieces):
                yield (
                    _shared([piece.section.path for piece in pieces[first:last]]),
                    text[pieces[first].start : pieces[last - 1].end],
                )

    def _groups(self, counted: Iterable[tuple[Section, int]]) -> list[list[Section]]:
        """Sections that are cut together: one that is short, or only a heading, goes with what follows."""
        groups: list[list[Section]] = []
        total, short = 0, False
        for section, count in counted:
            if short:
                groups[-1].append(section)
            else:
                groups.append([section])
                total = 0
            total += count
            short = total < self.words / 4 or not section.body.strip()
        if short and len(groups) > 1:
            last = groups.pop()
            groups[-1] += last
        return groups

    def _pieces(self, group: Iterable[Section]) -> Iterator[_Piece]:
        offset = 0
        begin, held = 0, 0  # of headings that wait for what follows: where they begin, and their words
        for section in group:
            text = section.head + section.body
            for start, end in sentences(text):
                count = len(_WORD.findall(text, start, end))
                begin = begin if held else offset + start
                if held + count <= self.words / 2 and _is_heading(section, text, start, end, count):
                    held += count
                    last = _Piece(begin, offset + end, held, section)
                    continue
                overlong = held + count > 2 * self.words
                for first, stop, words in self._parts(text, start, end) if overlong else [(start, end, count)]:
                    yield _Piece(begin if held else offset + first, offset + stop, held + words, section)
                    held = 0
            offset += len(text)
        if held:
            yield last

    def _parts(self, text: str, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """A sentence in parts of `words` words, cut at its spaces: (start, end, words) of each."""
        first, stop, total = start, start, 0
        for run in _RUN.finditer(text, start, end):
            count = len(_WORD.findall(run[0]))
            if total and total + count > self.words:
                yield first, stop, total
                first, total = run.start(), 0
            stop, total = run.end(), total + count
        yield first, stop, total

    def _runs(self, pieces: list[_Piece]) -> list[tuple[int, int]]:
        """Half-open ranges of `pieces`, each a passage, closed where that comes nearest to `words`."""
        runs: list[tuple[int, int]] = []
        if sum(piece.words for piece in pieces) <= 1.5 * self.words:
            return [(0, len(pieces))]
        first, total, fresh = 0, 0, 0  # where the open passage begins, its words, those not repeated
        for i, piece in enumerate(pieces):
            if fresh >= self.words / 4 and total + piece.words / 2 > self.words:
                runs.append((first, i))
                first, total, fresh = self._repeat(pieces, i)
            total += piece.words
            fresh += piece.words
        if runs and fresh < self.words / 4:
            runs[-1] = (runs[-1][0], len(pieces))
        else:
            runs.append((first, len(pieces)))
        return runs

    def _repeat(self, pieces: list[_Piece], end: int) -> tuple[int, int, int]:
        """Where the passage after `end` begins, and how many words it repeats: at most half of a passage."""
        first, total = end, 0
        while end - first < self.overlap and total + pieces[first - 1].words <= self.words / 2:
            first -= 1
            total += pieces[first].words
        return first, total, 0


def _is_heading(section: Section, text: str, start: int, end: int, count: int) -> bool:
    """Whether the sentence is one of the section's heading, or looks like a heading."""
    if end <= len(section.head):
        return True
    return (
        count <= _LONGEST_HEADING
        and "\n" not in text[start:end]
        and bool(_PARAGRAPH_ENDS.match(text, end))
        and not _STOPPED.search(text, start, end)
    )


def _shared(paths: Sequence[tuple[str, ...]]) -> list[str]:
    """What all of `paths` begin with."""
    levels = zip(*paths, strict=False)
    return [level[0] for level in takewhile(lambda level: len(set(level)) == 1, levels)]


def _text(sections: Iterable[Section]) -> str:
    return "".join(section.head + section.body for section in sections)


def _count(text: str) -> int:
    return len(_WORD.findall(text))
