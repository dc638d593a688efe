"""Select the keywords to keep, and compute how many corrupted passages cannot change them.

Xiang et al., "Certifiably Robust RAG against Retrieval Corruption", 2024: keyword aggregation and its certificate.
Readings are sets of keywords in the order of their passages, or None for a reading that abstains.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

Keywords = frozenset[str]


def kept(readings: Sequence[Keywords | None], alpha: float, beta: int) -> Keywords:
    """Return the keywords in at least min(beta, alpha n) of the n readings that do not abstain."""
    speaking = [reading for reading in readings if reading is not None]
    least = min(beta, alpha * len(speaking))
    return frozenset(keyword for keyword, count in _counts(speaking).items() if count >= least)


def certified(readings: Sequence[Keywords | None], alpha: float, beta: int) -> int:
    """Return k', for how many corrupted passages the kept keywords are certain: inserted, while as many drop off."""
    keywords = kept(readings, alpha, beta)
    for corrupted in range(1, len(readings)):
        left = [reading for reading in readings[: len(readings) - corrupted] if reading is not None]
        least = min(beta, alpha * (len(left) + corrupted))
        counts = _counts(left)
        if least <= corrupted or keywords != {keyword for keyword in counts if counts[keyword] >= least}:
            return corrupted - 1
        if any(least - corrupted <= count < least for count in counts.values()):
            return corrupted - 1
    return max(len(readings) - 1, 0)  # with all passages corrupted, nothing is certain


def _counts(readings: Sequence[Keywords]) -> Counter[str]:
    return Counter(keyword for reading in readings for keyword in reading)
