"""Intervals of means, and paired comparisons with a baseline, that hold on few questions, too.

Of questions that are right or wrong the interval is Wilson's, and the comparison McNemar's exact test: where all of a
few are alike, so is every resample of them, which would say too much. What is graded is resampled (Efron 1979).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

RESAMPLES = 1000
_LEVEL = 0.95
_Z = NormalDist().inv_cdf((1 + _LEVEL) / 2)
_BLOCK = 1 << 20  # counts held at once, so that memory does not grow with the questions

Column: TypeAlias = "Sequence[float | None] | NDArray[np.float64]"  # a value for each question; None or NaN for none
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Difference:
    """How a mean differs from the baseline's over the questions that both are defined for, and its 95 % interval.

    `p` is two-sided: of the exact test where all questions are 0 or 1, otherwise of the randomisation test.
    """

    value: float
    low: float
    high: float
    p: float

    @property
    def significant(self) -> bool:
        """Whether chance alone would seldom make such a difference. Not corrected for how many are compared."""
        return self.p < 1 - _LEVEL


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over `rows` questions and its 95 % interval; all None where no question has a value."""

    value: float | None
    rows: int
    low: float | None = None
    high: float | None = None
    difference: Difference | None = None


def estimate(columns: Mapping[K, Column], against: Mapping[K, K] | None = None, *, seed: int = 0) -> dict[K, Estimate]:
    """The estimate of each column, and the difference of those in `against` from the column that it names for them.

    All columns are over the same questions; every resample draws the same of them for all columns, so that what makes
    a question hard weighs on both sides of a comparison.
    """
    values = {key: np.asarray(column, dtype=np.float64) for key, column in columns.items()}
    binary = {key for key, column in values.items() if np.isin(_known(column), (0, 1)).all()}
    intervals = {key: wilson(values[key]) for key in binary}
    pairs = {key: (values[key], values[base]) for key, base in (against or {}).items()}
    pairs = {key: pair for key, pair in pairs.items() if _known(pair[0] - pair[1]).size}
    counted = {key for key in pairs if key in binary and (against or {})[key] in binary}
    differences = {key: _of_pairs(*pairs[key]) for key in counted}
    graded = [key for key in values if key not in binary]
    gaps = {key: one - other for key, (one, other) in pairs.items() if key not in counted}
    draws = iter(_means([*(values[key] for key in graded), *gaps.values()], seed) if graded else ())
    intervals |= {key: _middle(next(draws)) for key in graded}
    for (key, gap), p in zip(gaps.items(), _by_signs(list(gaps.values()), seed) if gaps else (), strict=True):
        differences[key] = Difference(_mean(gap), *_middle(next(draws)), p)
    return {
        key: Estimate(_mean(column), rows, *intervals[key], differences.get(key)) if rows else Estimate(None, 0)
        for key, column in values.items()
        for rows in [_known(column).size]
    }


def mean(column: Column) -> Estimate:
    """The mean of a column alone."""
    known = _known(np.asarray(column, dtype=np.float64))
    return Estimate(_mean(known), known.size) if known.size else Estimate(None, 0)


def wilson(column: NDArray[np.float64]) -> tuple[float, float]:
    """The interval of a share (Wilson 1927), within 0 and 1 and never without width."""
    known = _known(column)
    rows, share = max(known.size, 1), float(known.mean()) if known.size else 0.0
    middle = (share + _Z**2 / (2 * rows)) / (1 + _Z**2 / rows)
    reach = _Z * math.sqrt(share * (1 - share) / rows + _Z**2 / (4 * rows**2)) / (1 + _Z**2 / rows)
    return (0.0 if share == 0 else middle - reach), (1.0 if share == 1 else middle + reach)


def sign_test(wins: int, losses: int) -> float:
    """The two-sided p of the questions that only one of two has right: McNemar's test, exact (McNemar 1947)."""
    fewer = np.arange(1, min(wins, losses) + 1)
    logarithms = np.cumsum(np.log((wins + losses - fewer + 1) / fewer))
    tail = np.exp(np.array([0.0, *logarithms]) - (wins + losses) * math.log(2)).sum()
    return min(1.0, 2 * float(tail))


def _of_pairs(one: NDArray[np.float64], other: NDArray[np.float64]) -> Difference:
    """By counting; the interval is the tenth of Newcombe (1998), which puts two of Wilson's together."""
    both = ~np.isnan(one - other)
    one, other = one[both], other[both]
    only_one, only_other = int((one > other).sum()), int((one < other).sum())
    all_right, rows = int((one * other).sum()), one.size
    none_right = rows - all_right - only_one - only_other
    agreement: float = all_right * none_right - only_one * only_other
    if agreement > 0:
        agreement = max(agreement - rows / 2, 0)
    p, q = one.mean(), other.mean()
    scale = rows**2 * math.sqrt(p * (1 - p) * q * (1 - q))
    phi = agreement / scale if scale else 0.0
    (p_low, p_high), (q_low, q_high) = wilson(one), wilson(other)

    def reach(a: float, b: float) -> float:
        return math.sqrt(max(a * a - 2 * phi * a * b + b * b, 0.0))

    value = float(p - q)
    low, high = value - reach(p - p_low, q_high - q), value + reach(p_high - p, q - q_low)
    return Difference(value, low, high, sign_test(only_one, only_other))


def _by_signs(gaps: Sequence[NDArray[np.float64]], seed: int) -> list[float]:
    """The two-sided p of each column of differences: how often they add up to as much with signs drawn at random.

    The paired randomisation test (Fisher 1935, Section 21), which holds its level on few questions, too.
    """
    values = np.nan_to_num(np.stack(gaps))
    sums = np.abs(values.sum(axis=1, keepdims=True)) - 1e-9  # what cancels out in floats is as much
    chance, reached = np.random.default_rng(seed), np.zeros(len(gaps))
    for rows in _blocks(values.shape[1]):
        signs = chance.integers(2, size=(values.shape[1], rows), dtype=np.int8) * 2.0 - 1.0
        reached += (np.abs(values @ signs) >= sums).sum(axis=1)
    return [float(p) for p in (reached + 1) / (RESAMPLES + 1)]


def _blocks(size: int) -> Iterator[int]:
    """How many resamples to draw at once."""
    at_once = max(1, _BLOCK // size)
    return (min(at_once, RESAMPLES - start) for start in range(0, RESAMPLES, at_once))


def _means(columns: Sequence[NDArray[np.float64]], seed: int) -> NDArray[np.float64]:
    """The means of each column over the questions of each resample; NaN where none drawn has a value."""
    values = np.stack(columns)
    known = ~np.isnan(values)
    values, weights = np.where(known, values, 0.0), None if known.all() else known.astype(np.float64)
    size = values.shape[1]
    chance, found = np.random.default_rng(seed), []
    for rows in _blocks(size):
        picked = chance.integers(size, size=(rows, size)) + size * np.arange(rows)[:, None]
        counts = np.bincount(picked.ravel(), minlength=rows * size).reshape(rows, size).T.astype(np.float64)
        with np.errstate(invalid="ignore"):
            found.append((values @ counts) / (size if weights is None else weights @ counts))
    return np.concatenate(found, axis=1)


def _middle(draws: NDArray[np.float64]) -> tuple[float, float]:
    """The percentile interval."""
    ordered = np.sort(_known(draws))
    cut = int(ordered.size * (1 - _LEVEL) / 2)
    return float(ordered[cut]), float(ordered[-1 - cut])


def _known(column: NDArray[np.float64]) -> NDArray[np.float64]:
    return column[~np.isnan(column)]


def _mean(column: NDArray[np.float64]) -> float:
    return float(_known(column).mean())
