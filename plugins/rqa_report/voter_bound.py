"""How much a perfect voter could answer (Ensemble of Retrievers, section 4, Figure 5).

A perfect voter answers a question right whenever one member of its pool does.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import comb

from .inconsistency import Questions

LARGEST_ENUMERATED = 18  # members: 262,143 pools
SAMPLED = 1000  # pools of each size beyond that


@dataclass(frozen=True, slots=True)
class Bound:
    """The accuracy of a perfect voter over pools of `size` members: the mean over all such pools, the worst, the best.

    `best_pool` has positions of members. The mean is always exact; `exact` says whether worst and best are.
    """

    size: int
    mean: float
    worst: float
    best: float
    best_pool: tuple[int, ...]
    exact: bool


def perfect_voter(correct: Sequence[Questions], asked: int) -> list[Bound]:
    """The bounds for pools of 1 member to all; `asked` is the number of questions, at least 1.

    Up to LARGEST_ENUMERATED members every pool is looked at. Beyond, worst and best are those of SAMPLED random pools
    of each size, and of two that are grown greedily, by the member that adds most and by the one that adds least.
    """
    members = len(correct)
    means = _means(correct, asked)
    exact = members <= LARGEST_ENUMERATED
    worst: dict[int, int] = {}
    best: dict[int, tuple[int, tuple[int, ...]]] = {}
    for pool, covered in _all_pools(correct) if exact else _some_pools(correct, random.Random(0)):
        size, answered = len(pool), covered.bit_count()
        worst[size] = min(answered, worst.get(size, answered))
        if size not in best or answered > best[size][0]:
            best[size] = answered, pool
    return [
        Bound(
            size=size,
            mean=means[size],
            worst=worst[size] / asked,
            best=best[size][0] / asked,
            best_pool=tuple(sorted(best[size][1])),
            exact=exact or size in (1, members),
        )
        for size in range(1, members + 1)
    ]


def _means(correct: Sequence[Questions], asked: int) -> list[float]:
    """By pool size, the mean over all pools: a question that c of M members answer is missed by C(M-c, size) pools."""
    members = len(correct)
    how_many: dict[int, int] = {}  # questions that exactly so many members answer
    for question in range(asked):
        by = sum(mine >> question & 1 for mine in correct)
        how_many[by] = how_many.get(by, 0) + 1
    return [
        sum(count * (1 - comb(members - by, size) / comb(members, size)) for by, count in how_many.items()) / asked
        for size in range(members + 1)
    ]


def _all_pools(correct: Sequence[Questions]) -> Iterator[tuple[tuple[int, ...], Questions]]:
    """Every pool but the empty one, with the questions that it can answer."""
    begun: list[tuple[tuple[int, ...], Questions]] = [((), 0)]
    while begun:
        pool, covered = begun.pop()
        for member in range(pool[-1] + 1 if pool else 0, len(correct)):
            grown = (*pool, member), covered | correct[member]
            yield grown
            begun.append(grown)


def _some_pools(correct: Sequence[Questions], chance: random.Random) -> Iterator[tuple[tuple[int, ...], Questions]]:
    members = range(len(correct))
    for most in (True, False):
        pool: tuple[int, ...] = ()
        covered = 0
        while len(pool) < len(correct):
            left = [member for member in members if member not in pool]
            gains = {member: (covered | correct[member]).bit_count() for member in left}
            member = (max if most else min)(left, key=gains.__getitem__)
            pool, covered = (*pool, member), covered | correct[member]
            yield pool, covered
    for member in members:
        yield (member,), correct[member]
    for size in range(2, len(correct)):
        for _ in range(SAMPLED):
            chosen = tuple(chance.sample(members, size))
            covered = 0
            for member in chosen:
                covered |= correct[member]
            yield chosen, covered
