"""Exact match and F1 as in SQuAD, and AUC."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from robust_qa.kit import normalise


def exact(answer: str, gold: Sequence[str]) -> float:
    """Return 1 if the normalised answer is one of `gold`, else 0."""
    return float(any(normalise(answer) == normalise(one) for one in gold))


def f1(answer: str, gold: Sequence[str]) -> float:
    """Return the best word F1 of `answer` and any of `gold` (Rajpurkar et al., 2016, section 6.1)."""

    def f1_with(one: str) -> float:
        ours, theirs = normalise(answer).split(), normalise(one).split()
        common = sum((Counter(ours) & Counter(theirs)).values())
        return 2 * common / (len(ours) + len(theirs)) if common else 0.0

    return max(map(f1_with, gold), default=0.0)


def auc(scores: Sequence[float], positive: Sequence[bool]) -> float:
    """Return the area under the ROC curve, or NaN if all flags are equal."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(positive, scores)) if len(set(positive)) == 2 else float("nan")
