"""A question over several passages, as a retriever returns them: its own, and those most like the question."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

from robust_qa import Passage, contains_answer, sentences

from .neighbours import Neighbours
from .rows import Row

OTHERS = 5  # passages beside a row's own
ABSENT = 0.3  # share of the questions whose own passage was not retrieved


class Retrieved(NamedTuple):
    """A row's question over passages of which at most its own, the first, tells the answer."""

    row: Row
    passages: list[Passage]

    @property
    def answered(self) -> bool:
        """Whether the row's own passage is there, and tells the answer."""
        return self.row.answerable and self.passages[0] == own(self.row)


def own(row: Row) -> Passage:
    """The passage of a row."""
    return Passage(row.context, title=row.title)


def retrieved(rows: Sequence[Row], *, others: int = OTHERS, absent: float = ABSENT, seed: int = 0) -> list[Retrieved]:
    """Each question over its passage and at most `others`, nearest first, that do not tell the answer; in order.

    Of a share `absent` of the questions the own passage was not found. A row without an answer stays alone, as it is
    not known which other passage may tell one.
    """
    passages = list(dict.fromkeys(own(row) for row in rows))
    index = Neighbours([f"{passage.title} {passage.text}" for passage in passages])
    rng = random.Random(seed)
    found = []
    for row in rows:
        if not row.answerable:
            found.append(Retrieved(row, [own(row)]))
            continue
        near = [passages[n] for n in index.nearest(row.question, 4 * (others + 1))]
        apart = [passage for passage in near if passage != own(row) and not tells(row, passage)][:others]
        there = rng.random() >= absent or not apart
        found.append(Retrieved(row, [own(row), *apart] if there else apart))
    return found


def tells(row: Row, passage: Passage) -> bool:
    """Whether a passage may tell the answer too: by its words, or by the very sentence where those are not known."""
    if row.within is not None:
        return row.context[row.within[0] : row.within[1]] in passage.text
    if row.start is not None and _sentence(row) in passage.text:
        return True
    return bool(row.answers) and contains_answer(f"{passage.title} {passage.text}", row.answers)


def _sentence(row: Row) -> str:
    start = row.start or 0
    return next((row.context[a:b] for a, b in sentences(row.context) if a <= start < b), row.context)


def as_rows(one: Retrieved) -> list[Row]:
    """A row for each passage; only the own one has an answer."""
    rest = one.passages[one.answered :]
    apart = [Row(one.row.question, passage.text, passage.title, source=one.row.source) for passage in rest]
    return [one.row, *apart] if one.answered else apart
