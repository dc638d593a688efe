"""Split passages into windows of the form `[CLS] question [SEP] title : text [SEP]`."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from robust_qa import Passage
from robust_qa.kit import sentences, statements, visible

if TYPE_CHECKING:
    from .engine import Marking, Marks

    Marked = tuple["Window", Marks]


def head(title: str) -> str:
    """Return the prefix of a passage's text."""
    return f"{title} : " if title else ""


def firsts(passages: Sequence[Passage]) -> list[int]:
    """Return for each passage the index of the first passage with the same visible title and text."""
    found: dict[tuple[str, str], int] = {}
    return [found.setdefault((visible(each.title), visible(each.text)), n) for n, each in enumerate(passages)]


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a passage. `places[n]` is the character range of token `first + n` in "title : text".

    The text begins at `shift`. `parts[n]` is the sentence of the token, 0 for the title, and -1 for the
    colon and for sentences that state nothing.
    """

    request: int
    question: str
    passage: int
    ids: list[int]
    types: list[int]
    first: int
    places: list[tuple[int, int]]
    parts: list[int]
    shift: int


def cut(engine: Marking, request: int, question: str, passages: Sequence[Passage]) -> Iterator[Window]:
    """Yield the windows of all different `passages`. Each window repeats the question and the title."""
    begin, end = engine.ends
    length = engine.settings.length
    asked = [begin, *engine.tokens(question)[0][: length // 3], end]
    for number in sorted(set(firsts(passages))):
        passage = passages[number]
        before = head(passage.title)
        head_ids, head_places = engine.tokens(before)
        head_ids, head_places = head_ids[: length // 6], head_places[: length // 6]
        head_parts = [0 if a < len(passage.title) else -1 for a, _ in head_places]
        ids, places = engine.tokens(passage.text)
        starts = [a for a, _ in sentences(passage.text)]
        told = {bisect(starts, a) for a, _ in statements(passage.text, question)}
        parts = [part if (part := bisect(starts, a)) in told else -1 for a, _ in places]
        places = [(a + len(before), b + len(before)) for a, b in places]
        room = length - len(asked) - len(head_ids) - 1
        stride = min(engine.settings.stride, room // 2)
        for at in range(0, max(1, len(ids) - stride), room - stride):
            body = [*head_ids, *ids[at : at + room], end]
            yield Window(
                request, question, number, asked + body, [0] * len(asked) + [1] * len(body), len(asked),
                [*head_places, *places[at : at + room]], [*head_parts, *parts[at : at + room]], len(before),
            )  # fmt: skip


def marked_windows(engine: Marking, requests: Sequence[tuple[str, Sequence[Passage]]]) -> list[list[Marked]]:
    """Return the marked windows of each request's passages, computed as one batch."""
    windows = [
        window for n, (question, passages) in enumerate(requests) for window in cut(engine, n, question, passages)
    ]
    marks = engine.mark([(window.ids, window.types) for window in windows])
    found: list[list[Marked]] = [[] for _ in requests]
    for window, window_marks in zip(windows, marks, strict=True):
        found[window.request].append((window, window_marks))
    return found
