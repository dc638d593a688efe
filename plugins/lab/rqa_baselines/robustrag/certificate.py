"""Select the keywords to keep, and compute how an attacker could change them.

Xiang et al., "Certifiably Robust RAG against Retrieval Corruption", 2024: keyword aggregation and its certificate.
Readings are sets of keywords in the order of their passages, or None for a reading that abstains.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

Keywords = frozenset[str]


def kept(readings: Sequence[Keywords | None], alpha: float, beta: int) -> Keywords:
    """Return the keywords in at least min(beta, alpha n) of the n readings that do not abstain."""
    speaking = [reading for reading in readings if reading is not None]
    least = min(beta, alpha * len(speaking))
    return frozenset(keyword for keyword, count in _counts(speaking).items() if count >= least)


def attainable(
    readings: Sequence[Keywords | None], corrupted: int, alpha: float, beta: int, *, most: int
) -> list[Keywords] | None:
    """Return each set of keywords that can be kept if `corrupted` passages are inserted and as many drop off the end.

    Returns None if nothing is certain: the inserted passages can add keywords of their own, or there are more than
    `most` sets.
    """
    left = [reading for reading in readings[: max(len(readings) - corrupted, 0)] if reading is not None]
    least = min(beta, alpha * (len(left) + corrupted))
    if least <= corrupted:
        return None
    counts = _counts(left)
    certain = frozenset(keyword for keyword, count in counts.items() if count >= least)
    possible = sorted(keyword for keyword, count in counts.items() if least - corrupted <= count < least)
    if 2 ** len(possible) > most:
        return None
    return [certain.union(some) for size in range(len(possible) + 1) for some in combinations(possible, size)]


def _counts(readings: Sequence[Keywords]) -> Counter[str]:
    return Counter(keyword for reading in readings for keyword in reading)
