"""Clusters of passages, and how alike the members of one are."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from robust_qa.kit import words

if TYPE_CHECKING:
    from numpy.typing import NDArray

_STEPS = 100


def two_means(vectors: NDArray[Any]) -> list[list[int]]:
    """Return the members of two clusters by k-means, beginning at the farthest pair. [] for fewer than two vectors."""
    if len(vectors) < 2:
        return []
    centres = vectors[list(np.unravel_index((vectors @ vectors.T).argmin(), (len(vectors), len(vectors))))]
    second = np.zeros(len(vectors), bool)
    for _ in range(_STEPS):
        distances = ((vectors[:, None] - centres) ** 2).sum(axis=2)
        before, second = second, distances[:, 1] < distances[:, 0]
        if second.all() or not second.any() or (second == before).all():
            break
        centres = np.array([vectors[~second].mean(axis=0), vectors[second].mean(axis=0)])
    return [np.flatnonzero(side).tolist() for side in (~second, second)]


def closeness(vectors: NDArray[Any]) -> float:
    """Return the mean cosine of the pairs of vectors of length 1. 0 without a pair."""
    pairs = np.triu_indices(len(vectors), 1)
    return float((vectors @ vectors.T)[pairs].mean()) if len(vectors) > 1 else 0.0


def mean_rouge_l(texts: Sequence[str]) -> float:
    """Return the mean ROUGE-L (F1) of the pairs of texts. 0 without a pair."""
    scores = [_rouge_l(one, other) for one, other in combinations([words(text) for text in texts], 2)]
    return sum(scores) / len(scores) if scores else 0.0


def _rouge_l(one: Sequence[str], other: Sequence[str]) -> float:
    """Return twice the length of the longest common subsequence, as a share of both lengths."""
    lengths = [0] * (len(other) + 1)
    for word in one:
        diagonal = 0
        for place, against in enumerate(other, start=1):
            longest = diagonal + 1 if word == against else max(lengths[place], lengths[place - 1])
            diagonal, lengths[place] = lengths[place], longest
    return 2 * lengths[-1] / max(len(one) + len(other), 1)
