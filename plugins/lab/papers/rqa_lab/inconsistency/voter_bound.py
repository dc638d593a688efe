"""The accuracy of a perfect voter (Ensemble of Retrievers, section 4, Figure 5).

A perfect voter answers a question right whenever one member of its pool does.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from math import comb
from operator import or_

from .ratios import Questions

MAX_POOLS = 50_000  # of one size: all pools of up to 18 members
SAMPLED = 1000  # pools of a size with more than MAX_POOLS


@dataclass(frozen=True, slots=True)
class Bound:
    """The accuracy of a perfect voter with `size` members: the mean, worst and best over all such pools.

    `best_pool` has positions of members. The mean is always exact; `exact` is about worst and best.
    """

    size: int
    mean: float
    worst: float
    best: float
    best_pool: tuple[int, ...]
    exact: bool


def perfect_voter(correct: Sequence[Questions], asked: int) -> list[Bound]:
    """Return the bounds for pools of 1 to all members. `asked` is the number of questions, at least 1.

    Worst and best are over all pools of a size, or over a random sample if there are more than MAX_POOLS.
    """
    members = len(correct)
    rng = random.Random(0)
    answered_by = Counter(sum(mine >> question & 1 for mine in correct) for question in range(asked))
    bounds = []
    for size in range(1, members + 1):
        exact = comb(members, size) <= MAX_POOLS
        pools: Iterable[tuple[int, ...]] = combinations(range(members), size)
        if not exact:
            pools = (tuple(sorted(rng.sample(range(members), size))) for _ in range(SAMPLED))
        answered = {pool: reduce(or_, (correct[member] for member in pool)).bit_count() for pool in pools}
        best_pool = max(answered, key=answered.__getitem__)
        # A question that c of M members answer is missed by C(M-c, size) of the C(M, size) pools.
        missed = sum(count * comb(members - c, size) for c, count in answered_by.items()) / comb(members, size)
        bounds.append(
            Bound(
                size=size,
                mean=(asked - missed) / asked,
                worst=min(answered.values()) / asked,
                best=answered[best_pool] / asked,
                best_pool=best_pool,
                exact=exact,
            )
        )
    return bounds
