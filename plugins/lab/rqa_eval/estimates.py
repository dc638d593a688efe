"""Confidence intervals of means and paired tests against a baseline, valid for small samples.

Binary values: the Wilson interval and McNemar's exact test. Graded values: the Wilson interval with their variance
and a paired randomisation test. A bootstrap would give intervals without width where a few values are all alike.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

import msgspec
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

DRAWS = 1000  # random sign assignments
LEVEL = 0.95
_Z = NormalDist().inv_cdf((1 + LEVEL) / 2)
_BLOCK = 1 << 20  # signs in memory at once

Column: TypeAlias = "Sequence[float | None] | NDArray[np.float64]"  # one value per question, None or NaN if undefined
K = TypeVar("K", bound=Hashable)


def estimate(columns: Mapping[K, Column], against: Mapping[K, K] | None = None, *, seed: int = 0) -> dict[K, Estimate]:
    """Return the estimate of each column. All columns are over the same questions, with values from 0 to 1.

    `against` maps a column to its baseline column: its estimate then includes the difference.
    """
    values = {key: np.asarray(column, dtype=np.float64) for key, column in columns.items()}
    pairs = {key: (values[key], values[base]) for key, base in (against or {}).items()}
    gaps = {key: gap for key, (one, other) in pairs.items() if _known(gap := one - other).size}
    graded = [key for key in gaps if not all(map(is_binary, pairs[key]))]
    p = {key: sign_test(int((gap > 0).sum()), int((gap < 0).sum())) for key, gap in gaps.items()}
    p |= zip(graded, _randomisation_test([gaps[key] for key in graded], seed) if graded else (), strict=True)
    differences = {
        key: Difference(_mean(gap), *_difference_interval(*pairs[key]), p[key], significant=p[key] < 1 - LEVEL)
        for key, gap in gaps.items()
    }
    return {
        key: Estimate(_mean(column), rows, *wilson(column), differences.get(key)) if rows else Estimate(None, 0)
        for key, column in values.items()
        for rows in [_known(column).size]
    }


def mean(column: Column) -> Estimate:
    """Return the mean of a column without an interval."""
    known = _known(np.asarray(column, dtype=np.float64))
    return Estimate(_mean(known), known.size) if known.size else Estimate(None, 0)


def wilson(column: NDArray[np.float64]) -> tuple[float, float]:
    """Return the Wilson score interval (Wilson 1927) of the mean, within 0 and 1.

    It uses the variance of the values, which is p (1 - p) for binary ones. For graded values the interval is at
    least as wide as the normal approximation.
    """
    known = _known(column)
    rows, share, variance = known.size, float(known.mean()), float(known.var())
    middle = (share + _Z**2 / (2 * rows)) / (1 + _Z**2 / rows)
    reach = _Z * math.sqrt(variance / rows + _Z**2 / (4 * rows**2)) / (1 + _Z**2 / rows)
    low, high = (0.0 if share == 0 else middle - reach), (1.0 if share == 1 else middle + reach)
    if is_binary(known):
        return low, high
    error = _Z * math.sqrt(variance / rows)
    return max(0.0, min(low, share - error)), min(1.0, max(high, share + error))


def sign_test(wins: int, losses: int) -> float:
    """Return the two-sided p of McNemar's exact test (McNemar 1947)."""
    fewer = np.arange(1, min(wins, losses) + 1)
    logarithms = np.cumsum(np.log((wins + losses - fewer + 1) / fewer))
    tail = np.exp(np.array([0.0, *logarithms]) - (wins + losses) * math.log(2)).sum()
    return min(1.0, 2 * float(tail))


def _difference_interval(one: NDArray[np.float64], other: NDArray[np.float64]) -> tuple[float, float]:
    """Return the interval of a paired difference: method 10 of Newcombe (1998), from two Wilson intervals."""
    both = ~np.isnan(one - other)
    one, other = one[both], other[both]
    rows, p, q = one.size, float(one.mean()), float(other.mean())
    agreement = rows * float(one @ other) - float(one.sum() * other.sum())
    if agreement > 0:
        agreement = max(agreement - rows / 2, 0)
    scale = rows**2 * float(one.std() * other.std())
    phi = agreement / scale if scale > 1e-9 else 0.0  # against rounding errors
    (p_low, p_high), (q_low, q_high) = wilson(one), wilson(other)

    def reach(a: float, b: float) -> float:
        return math.sqrt(max(a * a - 2 * phi * a * b + b * b, 0.0))

    return p - q - reach(p - p_low, q_high - q), p - q + reach(p_high - p, q - q_low)


def _randomisation_test(gaps: Sequence[NDArray[np.float64]], seed: int) -> list[float]:
    """Return the two-sided p of each column of differences (Fisher 1935, Section 21).

    It is the share of random sign assignments whose sum is at least as large as the observed sum.
    """
    values = np.nan_to_num(np.stack(gaps))
    size = values.shape[1]
    sums = np.abs(values.sum(axis=1, keepdims=True)) - 1e-9  # against rounding errors
    rng, extreme = np.random.default_rng(seed), np.zeros(len(gaps))
    block = max(1, _BLOCK // size)
    for start in range(0, DRAWS, block):
        signs = rng.integers(2, size=(size, min(block, DRAWS - start)), dtype=np.int8) * 2.0 - 1.0
        extreme += (np.abs(values @ signs) >= sums).sum(axis=1)
    return [float(p) for p in (extreme + 1) / (DRAWS + 1)]


def is_binary(column: NDArray[np.float64]) -> bool:
    """Return whether the known values are 0 or 1. They are compared by McNemar's test."""
    return bool(np.isin(_known(column), (0, 1)).all())


def _known(column: NDArray[np.float64]) -> NDArray[np.float64]:
    return column[~np.isnan(column)]


def _mean(column: NDArray[np.float64]) -> float:
    return float(_known(column).mean())


class Difference(msgspec.Struct, frozen=True):
    """A paired difference from the baseline: the mean difference, its 95 % interval and the two-sided p."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    significant: bool = False


class Estimate(msgspec.Struct, frozen=True):
    """The mean of a metric over the `rows` that have a value, and its 95 % interval."""

    value: float | None = None
    rows: int = 0
    low: float | None = None
    high: float | None = None
    difference: Difference | None = None


class StrategyResult(msgspec.Struct, frozen=True):
    """The state of a strategy: "failed" means on every row, "left out" that it could not start.

    The strategy has answers to `rows` of the `questions` of the run; `message` is the first error.
    """

    name: str
    state: Literal["done", "failed", "left out"] = "done"
    rows: int = 0
    questions: int = 0
    failed: int = 0
    message: str = ""

    @property
    def coverage(self) -> str:
        """Return " (106 of 400)" if some questions have no answer, else ""."""
        return f" ({self.rows:,} of {self.questions:,})" if self.rows < self.questions else ""
