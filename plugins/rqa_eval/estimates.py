"""Intervals of means, and paired comparisons with a baseline, that hold on few questions, too.

Of questions that are right or wrong the interval is Wilson's, and the comparison McNemar's exact test. Of what is
graded the interval is Wilson's with the variance of the grades, and the comparison a randomisation test. Where a few
are alike, or nearly, so is every resample of them, and the standard error next to nothing, which would say too much.
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

DRAWS = 1000  # of the signs of all differences
_LEVEL = 0.95
_Z = NormalDist().inv_cdf((1 + _LEVEL) / 2)
_BLOCK = 1 << 20  # signs held at once, so that memory does not grow with the questions

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

    All columns are over the same questions, each value from 0 to 1.
    """
    values = {key: np.asarray(column, dtype=np.float64) for key, column in columns.items()}
    pairs = {key: (values[key], values[base]) for key, base in (against or {}).items()}
    gaps = {key: gap for key, (one, other) in pairs.items() if _known(gap := one - other).size}
    graded = [key for key in gaps if not all(map(_is_binary, pairs[key]))]
    chances = {key: sign_test(int((gap > 0).sum()), int((gap < 0).sum())) for key, gap in gaps.items()}
    chances |= zip(graded, _by_signs([gaps[key] for key in graded], seed) if graded else (), strict=True)
    differences = {key: Difference(_mean(gap), *_paired(*pairs[key]), chances[key]) for key, gap in gaps.items()}
    return {
        key: Estimate(_mean(column), rows, *wilson(column), differences.get(key)) if rows else Estimate(None, 0)
        for key, column in values.items()
        for rows in [_known(column).size]
    }


def mean(column: Column) -> Estimate:
    """The mean of a column alone."""
    known = _known(np.asarray(column, dtype=np.float64))
    return Estimate(_mean(known), known.size) if known.size else Estimate(None, 0)


def wilson(column: NDArray[np.float64]) -> tuple[float, float]:
    """The interval of a share (Wilson 1927), within 0 and 1 and never without width.

    The variance is that of the values: of 0 and 1 Wilson's own, p (1 - p), and of grades less. These may be far from 0
    and 1, so that their interval reaches at least as far as the standard error says.
    """
    known = _known(column)
    rows, share, variance = known.size, float(known.mean()), float(known.var())
    middle = (share + _Z**2 / (2 * rows)) / (1 + _Z**2 / rows)
    reach = _Z * math.sqrt(variance / rows + _Z**2 / (4 * rows**2)) / (1 + _Z**2 / rows)
    low, high = (0.0 if share == 0 else middle - reach), (1.0 if share == 1 else middle + reach)
    if _is_binary(known):
        return low, high
    error = _Z * math.sqrt(variance / rows)
    return max(0.0, min(low, share - error)), min(1.0, max(high, share + error))


def sign_test(wins: int, losses: int) -> float:
    """The two-sided p of the questions that only one of two has right: McNemar's test, exact (McNemar 1947)."""
    fewer = np.arange(1, min(wins, losses) + 1)
    logarithms = np.cumsum(np.log((wins + losses - fewer + 1) / fewer))
    tail = np.exp(np.array([0.0, *logarithms]) - (wins + losses) * math.log(2)).sum()
    return min(1.0, 2 * float(tail))


def _paired(one: NDArray[np.float64], other: NDArray[np.float64]) -> tuple[float, float]:
    """The interval of a difference: the tenth of Newcombe (1998), which puts two of Wilson's together."""
    both = ~np.isnan(one - other)
    one, other = one[both], other[both]
    rows, p, q = one.size, float(one.mean()), float(other.mean())
    # Of 0 and 1: both are right times none is, less only one is times only the other is.
    agreement = rows * float(one @ other) - float(one.sum() * other.sum())
    if agreement > 0:
        agreement = max(agreement - rows / 2, 0)
    scale = rows**2 * float(one.std() * other.std())
    phi = agreement / scale if scale > 1e-9 else 0.0  # what is alike differs a little as floats
    (p_low, p_high), (q_low, q_high) = wilson(one), wilson(other)

    def reach(a: float, b: float) -> float:
        return math.sqrt(max(a * a - 2 * phi * a * b + b * b, 0.0))

    return p - q - reach(p - p_low, q_high - q), p - q + reach(p_high - p, q - q_low)


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
    return [float(p) for p in (reached + 1) / (DRAWS + 1)]


def _blocks(size: int) -> Iterator[int]:
    """How many draws to make at once."""
    at_once = max(1, _BLOCK // size)
    return (min(at_once, DRAWS - start) for start in range(0, DRAWS, at_once))


def _is_binary(column: NDArray[np.float64]) -> bool:
    return bool(np.isin(_known(column), (0, 1)).all())


def _known(column: NDArray[np.float64]) -> NDArray[np.float64]:
    return column[~np.isnan(column)]


def _mean(column: NDArray[np.float64]) -> float:
    return float(_known(column).mean())
