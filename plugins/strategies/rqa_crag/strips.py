"""Decompose, filter, recompose (Yan et al. 2024, Section 4.4 and Appendix B.3; modes as in the published code)."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Literal

from robust_qa import Passage
from robust_qa.kit import sentences, visible

Spans = Iterator[tuple[int, int]]
Mode = Literal["excerption", "fixed_num", "selection"]

_SENTENCES = 3  # in a strip
_SHORT_SENTENCE = 5  # words; a sentence of at most this many joins the previous one
_WINDOW = 50  # words in a strip of fixed length
_TAIL = 10  # words; a shorter last window joins the previous one
_SHORTEST = 4  # words; shorter strips are not scored
_PARAGRAPH = 10  # characters; paragraphs of a page must be longer
# Han and kana have no spaces, and Hangul few, so each character counts as a word.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\s\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_BLANK = re.compile(r"\n\s*\n")


@dataclass(frozen=True, slots=True)
class Strip:
    """A part of a passage, by character offsets. `place` is the position of the passage in its list."""

    passage: Passage
    place: int
    start: int
    end: int
    score: float = -1.0
    kept: bool = False

    @property
    def text(self) -> str:
        """The text of the strip."""
        return self.passage.text[self.start : self.end]

    @property
    def says_something(self) -> bool:
        """Whether it is long enough to be scored; shorter strips count as irrelevant."""
        return _count(self.text) >= _SHORTEST


def cut(passages: Sequence[Passage], mode: Mode) -> list[Strip]:
    """Return the strips of the passages in order, without duplicates.

    "excerption": three sentences each, so that a passage of one or two is one strip; "fixed_num": 50 words each;
    "selection": whole passages.
    """
    spans = {"excerption": _groups, "fixed_num": _windows, "selection": _whole}[mode]
    return _distinct(passages, spans)


def paragraphs(passages: Sequence[Passage]) -> list[Strip]:
    """Return the paragraphs of pages, separated by blank lines (Appendix B.3), in order, without duplicates."""
    return _distinct(passages, _parted)


def choose(strips: Sequence[Strip], scores: Sequence[float], keep: int, floor: float, least: int = 0) -> list[Strip]:
    """Return the strips with scores. Keeps the best `keep` that reach `floor`, and always the best `least`."""
    best = sorted(range(len(strips)), key=lambda n: -scores[n])[:keep]
    kept = {n for rank, n in enumerate(best) if rank < least or scores[n] >= floor}
    return [
        dataclasses.replace(strip, score=score, kept=n in kept)
        for n, (strip, score) in enumerate(zip(strips, scores, strict=True))
    ]


def recompose(strips: Iterable[Strip], order: Literal["text", "score"] = "text") -> list[Passage]:
    """Return the kept strips as passages that keep their source, for citations.

    With order "text", the strips of a passage are joined; with "score", each is a passage of its own, best first.
    """
    kept = [strip for strip in strips if strip.kept]
    if order == "score":
        kept.sort(key=lambda strip: -strip.score)
        return [dataclasses.replace(strip.passage, text=strip.text, score=strip.score) for strip in kept]
    return [_joined(list(parts)) for _, parts in groupby(kept, key=lambda strip: strip.place)]


def _joined(strips: Sequence[Strip]) -> Passage:
    passage = strips[0].passage
    text = strips[0].text
    for one, other in pairwise(strips):
        between = passage.text[one.end : other.start]
        # A blank line marks the gap, so that no sentence continues over it.
        text += (between if not between.strip() else "\n\n") + other.text
    return dataclasses.replace(passage, text=text, score=max(strip.score for strip in strips))


def look(title: str, text: str) -> tuple[str, str]:
    """Return the visible title and text, which identify duplicates. A text with another title is no duplicate."""
    return visible(title), visible(text)


def _distinct(passages: Sequence[Passage], spans: Callable[[str], Spans]) -> list[Strip]:
    first: dict[tuple[str, str], Strip] = {}
    for place, passage in enumerate(passages):
        for start, end in spans(passage.text):
            strip = Strip(passage, place, start, end)
            first.setdefault(look(passage.title, strip.text), strip)
    return list(first.values())


def _count(text: str) -> int:
    return sum(1 for _ in _WORD.finditer(text))


def _groups(text: str) -> Spans:
    whole: list[tuple[int, int]] = []
    for start, end in sentences(text):
        joins = whole and _count(text[start:end]) <= _SHORT_SENTENCE
        whole.append((whole.pop()[0] if joins else start, end))
    for n in range(0, len(whole), _SENTENCES):
        group = whole[n : n + _SENTENCES]
        yield group[0][0], group[-1][1]


def _windows(text: str) -> Spans:
    found = [match.span() for match in _WORD.finditer(text)]
    while found:
        size = len(found) if len(found) < _WINDOW + _TAIL else _WINDOW
        yield found[0][0], found[size - 1][1]
        del found[:size]


def _whole(text: str) -> Spans:
    if text.strip():
        yield len(text) - len(text.lstrip()), len(text.rstrip())


def _parted(text: str) -> Spans:
    ends = [*(match.span() for match in _BLANK.finditer(text)), (len(text), len(text))]
    start = 0
    for end, following in ends:
        for first, last in _whole(text[start:end]):
            if last - first > _PARAGRAPH:
                yield start + first, start + last
        start = following
