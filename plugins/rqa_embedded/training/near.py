"""Questions over passages that a retriever would return with their own: what a teacher's scores are learnt on."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from .encoding import headed
from .neighbours import Neighbours
from .rows import Row

_NEAREST = 8  # passages of which one is drawn


def near_rows(rows: Sequence[Row], rng: random.Random, share: float) -> Iterator[Row]:
    """For a `share` of the rows, their question over one of the passages of other questions that are nearest to it.

    Whether it answers the question, nobody has said: nearest are the passages about the same, and some tell the answer
    in other words.
    """
    passages = list({headed(row): row for row in rows}.values())
    index = Neighbours([headed(row) for row in passages])
    for row in rows:
        if rng.random() >= share:
            continue
        near = [passages[n] for n in index.nearest(row.question, _NEAREST)]
        if others := [one for one in near if one.context != row.context]:
            one = rng.choice(others)
            yield Row(row.question, one.context, one.title, untold=True, source="near")
