"""Find the likeliest answer spans of a window."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from robust_qa import Passage
from robust_qa.kit import content_terms, words

from .windows import Window, head

if TYPE_CHECKING:
    from .engine import Marks

KEPT = 4  # spans of a window
_LONGEST = 24  # tokens of a span
# Penalty per squared token: start and end are scored independently, so distant ones may belong to two answers.
_LENGTH_PENALTY = 0.005
_BEST_SUMS = 20  # of a window, searched for spans that do not overlap
_LONGEST_WORD = 100  # characters on either side of a span
_OPENING, _CLOSING = "([{<\"'“‘`*_", ")]}>\"'”’`.,;:!?*_…"
_CHOICE = re.compile(r"\b(?:or|between|which of)\b", re.IGNORECASE)
_ASKING = frozenset("who what which when where why how whose whom".split())
_PAIRS = {")": "(", "]": "[", "}": "{", ">": "<"}


@dataclass(frozen=True, slots=True)
class Span:
    """A candidate answer: characters `start` to `end` of "title : text" of a passage, whose text begins at `shift`.

    `margin` is its score minus the score of "this passage has no answer". `answered` is the window's second score of
    whether it has one. `astray`: its sentence names another thing than the question does.
    """

    passage: int
    start: int
    end: int
    shift: int
    margin: float
    answered: float
    astray: bool = False

    @property
    def place(self) -> tuple[int, int] | None:
        """Its characters in the text, or None for a span of the title."""
        return None if self.start < self.shift else (self.start - self.shift, self.end - self.shift)


def spans(window: Window, marks: Marks, passage: Passage) -> list[Span]:
    """Return the KEPT best spans of a window, best first, without overlaps. Each lies in one sentence."""
    import numpy as np

    size = len(window.places)
    if not size:
        return []
    start = marks.start[window.first : window.first + size]
    end = marks.end[window.first : window.first + size]
    longer = np.arange(size) - np.arange(size)[:, None]
    parts = np.array(window.parts)
    allowed = (longer >= 0) & (longer < _LONGEST) & (parts >= 0) & (parts == parts[:, None])
    sums = np.where(allowed, start[:, None] + end - _LENGTH_PENALTY * longer**2, -np.inf).ravel()
    null = float(marks.start[0] + marks.end[0])
    text = text_of(passage)
    kept: list[tuple[int, int]] = []
    found = []
    best = np.argpartition(-sums, min(_BEST_SUMS, sums.size - 1))[:_BEST_SUMS]
    for at in best[np.argsort(-sums[best], kind="stable")]:
        first, last = divmod(int(at), size)
        if not allowed[first, last] or any(first <= b and last >= a for a, b in kept):
            continue
        place = whole_words(text, window.places[first][0], window.places[last][1])
        if repeats(window.question, text[slice(*place)]):
            continue
        kept.append((first, last))
        found.append(Span(window.passage, *place, window.shift, float(sums[at]) - null, marks.answered))
        if len(found) == KEPT:
            break
    return found


def repeats(question: str, answer: str) -> bool:
    """Whether an answer has only words of a question that names no choice, or is a question word."""
    if _CHOICE.search(question):
        return False
    terms = set(content_terms(answer))
    return terms <= set(content_terms(question)) if terms else set(words(answer)) <= {*_ASKING, *words(question)}


def text_of(passage: Passage) -> str:
    """Return "title : text", which spans point into."""
    return head(passage.title) + passage.text


def whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Extend a span to whole words between spaces, without the punctuation around them.

    The model's tokens divide `--parents`, /etc/fstab, $1,850 and 2023-11-26, and it marks parts.
    """
    first, last = start, end
    while first > max(0, start - _LONGEST_WORD) and not _divides(text[first - 1]):
        first -= 1
    while last < min(len(text), end + _LONGEST_WORD) and not _divides(text[last]):
        last += 1
    while first < start and text[first] in _OPENING:
        first += 1
    while last > end and text[last - 1] in _CLOSING and not _closes(text[first:last]):
        last -= 1
    if last - 2 >= end and text[last - 2 : last] in ("'s", "’s"):
        last -= 2
    return first, last


def _closes(text: str) -> bool:
    """Whether the last character closes a bracket of `text`: fopen()."""
    return _PAIRS.get(text[-1], text[-1]) in text[:-1] and text[-1] in _PAIRS


def _divides(character: str) -> bool:
    """Whether it is a space, or a letter of a script that may have no spaces between words."""
    return character.isspace() or (character >= "\u0e00" and character.isalpha())
