"""Intervals of paired differences, for the benchmarks that compare two runs over the same questions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

DRAWS = 10_000


def paired_interval(differences: NDArray[np.float64]) -> tuple[float, float]:
    """Return the 95 % interval of the mean of `differences`, one a question, from 10,000 resamples of the questions."""
    means = np.random.default_rng(0).choice(differences, (DRAWS, len(differences))).mean(1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)
