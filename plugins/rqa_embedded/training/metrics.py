"""What is measured: exact match and F1 as SQuAD's evaluation has them, and how well scores tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from robust_qa.kit import normalise


def exact(answer: str, gold: Sequence[str]) -> float:
    """1 where the normalised answer is one of `gold`."""
    return float(any(normalise(answer) == normalise(one) for one in gold))


def f1(answer: str, gold: Sequence[str]) -> float:
    """The best F1 of the words of `answer` against any of `gold`, as in Rajpurkar et al. (2016), section 6.1."""

    def against(one: str) -> float:
        ours, theirs = normalise(answer).split(), normalise(one).split()
        common = sum((Counter(ours) & Counter(theirs)).values())
        return 2 * common / (len(ours) + len(theirs)) if common else 0.0

    return max(map(against, gold), default=0.0)


def auc(scores: Sequence[float], positive: Sequence[bool]) -> float:
    """The area under the ROC curve: how often a positive scores above a negative (a tie counts half)."""
    values, flags = np.asarray(scores, float), np.asarray(positive, bool)
    right, wrong = values[flags], np.sort(values[~flags])
    if not right.size or not wrong.size:
        return float("nan")
    below = np.searchsorted(wrong, right, "left") + np.searchsorted(wrong, right, "right")  # a tie is in one of them
    return float(below.mean()) / (2 * wrong.size)
