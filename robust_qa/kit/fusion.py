"""Reciprocal rank fusion of rankings of passages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..types import Passage

# Cormack, Clarke and Büttcher (2009), with a small constant: the first ranks count most.
_CONSTANT = 5


def fused(rankings: Iterable[Sequence[Passage]], k: int) -> list[Passage]:
    """Return the `k` passages with the highest sums of 1 / (5 + rank) over the rankings, with this sum as score.

    Ranks start at 1. Passages of equal title and text are one.
    """
    scores: dict[tuple[str, str], float] = {}
    passages: dict[tuple[str, str], Passage] = {}
    for ranking in rankings:
        for rank, passage in enumerate(ranking, start=1):
            key = passage.title, passage.text
            passages.setdefault(key, passage)
            scores[key] = scores.get(key, 0.0) + 1 / (_CONSTANT + rank)
    best = sorted(scores, key=lambda key: -scores[key])[:k]
    return [replace(passages[key], score=scores[key]) for key in best]
