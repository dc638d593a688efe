"""Cut documents into passages of about equal length, at sentence boundaries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from ..kit.text import sentences
from .headings import Section

# Scripts without spaces (Thai to Myanmar, kana, Han): each character counts as a word. In other scripts every 64
# characters without a space count as one word (base64), and runs of up to 16 such words are not cut.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]{{1,64}}")
_RUN = re.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]{{1,{16 * 64}}}")
# In plain text, a short line before a blank line is a heading if it does not end a sentence.
_LONGEST_HEADING = 12  # words
_PARAGRAPH_ENDS = re.compile(r"[ \t]*\n[ \t]*\n")
_STOPPED = re.compile(r"[.!?…。！？][\"'”’)\]»*_]*(?:\[[^\[\]\n.!?…]{1,30}\])*\Z")


@dataclass(frozen=True, slots=True)
class _Piece:
    """The smallest unit of a passage: a sentence or a part of one, with the headings before it."""

    start: int
    end: int
    words: int
    section: Section


@dataclass(frozen=True, slots=True)
class Cut:
    """Cuts text into passages of about `words` words that repeat `overlap` sentences of the previous passage."""

    words: int = 100
    overlap: int = 0

    def __call__(self, text: str) -> list[str]:
        """Return the passages of `text`, in order. Each is a slice of `text`.

        - A text of up to 1.5 times `words` stays whole.
        - A sentence of more than twice `words` is cut between words.
        - Each passage adds at least a quarter of `words`.
        - A heading stays with the text after it.
        """
        return [passage for _, passage in self.sections([Section("", text)])]

    def sections(self, sections: Iterable[Section]) -> Iterator[tuple[list[str], str]]:
        """Return the passages of a text in sections, each with the titles of the headings above all of it.

        Each section begins a new passage, except sections of less than a quarter of `words`. A text that stays whole
        has no titles, because it contains its headings.
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
        """Group sections to cut together: a short section, or a heading without text, joins the next one."""
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
        begin, pending = 0, 0  # headings waiting for the following text: their offset and number of words
        for section in group:
            text = section.head + section.body
            for start, end in sentences(text):
                count = len(_WORD.findall(text, start, end))
                begin = begin if pending else offset + start
                if pending + count <= self.words / 2 and _is_heading(section, text, start, end, count):
                    pending += count
                    last = _Piece(begin, offset + end, pending, section)
                    continue
                overlong = pending + count > 2 * self.words
                for first, stop, words in self._parts(text, start, end) if overlong else [(start, end, count)]:
                    yield _Piece(begin if pending else offset + first, offset + stop, pending + words, section)
                    pending = 0
            offset += len(text)
        if pending:
            yield last

    def _parts(self, text: str, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Cut a sentence at its spaces into parts of `words` words. Return (start, end, words) of each."""
        first, stop, total = start, start, 0
        for run in _RUN.finditer(text, start, end):
            count = len(_WORD.findall(run[0]))
            if total and total + count > self.words:
                yield first, stop, total
                first, total = run.start(), 0
            stop, total = run.end(), total + count
        yield first, stop, total

    def _runs(self, pieces: list[_Piece]) -> list[tuple[int, int]]:
        """Return half-open ranges of `pieces`, one per passage, each as close to `words` as possible."""
        runs: list[tuple[int, int]] = []
        if sum(piece.words for piece in pieces) <= 1.5 * self.words:
            return [(0, len(pieces))]
        first, total, fresh = 0, 0, 0  # start of the current passage, its words, its words without the overlap
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
        """Return where the passage after `end` begins, and the number of repeated words, at most half a passage."""
        first, total = end, 0
        while end - first < self.overlap and total + pieces[first - 1].words <= self.words / 2:
            first -= 1
            total += pieces[first].words
        return first, total, 0


def _is_heading(section: Section, text: str, start: int, end: int, count: int) -> bool:
    """Return whether the sentence is part of the section's heading or looks like a heading."""
    if end <= len(section.head):
        return True
    return (
        count <= _LONGEST_HEADING
        and "\n" not in text[start:end]
        and bool(_PARAGRAPH_ENDS.match(text, end))
        and not _STOPPED.search(text, start, end)
    )


def _shared(paths: Sequence[tuple[str, ...]]) -> list[str]:
    """Return the common prefix of `paths`."""
    levels = zip(*paths, strict=False)
    return [level[0] for level in takewhile(lambda level: len(set(level)) == 1, levels)]


def _text(sections: Iterable[Section]) -> str:
    return "".join(section.head + section.body for section in sections)


def _count(text: str) -> int:
    return len(_WORD.findall(text))
