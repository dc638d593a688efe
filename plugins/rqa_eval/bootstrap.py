"""Confidence intervals and paired comparisons by resampling questions (Efron 1979; Koehn 2004 for pairs)."""

from __future__ import annotations

import operator
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

RESAMPLES = 1000
_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Difference:
    """How a mean differs from the baseline's over the questions that both are defined for.

    `p` is the two-sided probability that resampling gives no such difference; `significant` says that the interval
    leaves out 0.
    """

    value: float
    low: float
    high: float
    p: float
    significant: bool


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over `rows` questions and its 95 % interval; all None where no question has a value."""

    value: float | None
    rows: int
    low: float | None = None
    high: float | None = None
    difference: Difference | None = None


Column = Sequence[float | None]  # a metric's value for each question, in their order


def estimate(columns: Mapping[str, Column], *, baseline: str | None = None, seed: int = 0) -> dict[str, Estimate]:
    """The estimate of each column, and with a `baseline` its difference from that column.

    All columns are over the same questions; every resample draws the same of them for all columns, so that what makes
    a question hard weighs on both sides of a comparison.
    """
    means: dict[Column, _Mean] = {}

    def mean_of(column: Column) -> _Mean:
        return means.setdefault(tuple(column), _Mean(column))  # equal columns are drawn once

    found = {name: mean_of(column) for name, column in columns.items()}
    base = found.get(baseline) if baseline else None
    pairs: dict[str, _Mean] = {}
    for name, mean in found.items():
        if base is not None and name != baseline and mean.defined != base.defined:
            pairs[name] = mean_of(_paired(mean, base))
    _resample(list(means.values()), seed)
    told = {}
    for name, mean in found.items():
        difference = None
        if base is not None and name != baseline:
            difference = _difference(*((pairs[name], None) if name in pairs else (mean, base)))
        told[name] = mean.estimate(difference)
    return told


class _Mean:
    """The mean of a column where it is defined, and what resampling makes of it."""

    def __init__(self, column: Column) -> None:
        self.values = [value or 0.0 for value in column]
        self.defined = [value is not None for value in column]
        self.rows = sum(self.defined)
        self.value = sum(self.values) / self.rows if self.rows else None
        self.varies = len(set(column)) > 1
        self.draws: list[float | None] = [] if self.varies else [self.value] * RESAMPLES

    def draw(self, pick: operator.itemgetter[Any]) -> None:
        """The mean over the questions drawn."""
        rows = len(self.values) if self.rows == len(self.values) else sum(pick(self.defined))
        self.draws.append(sum(pick(self.values)) / rows if rows else None)

    def estimate(self, difference: Difference | None) -> Estimate:
        """What is told of it."""
        if self.value is None:
            return Estimate(None, 0)
        return Estimate(self.value, self.rows, *_interval(self.draws, self.value), difference)


def _resample(means: Sequence[_Mean], seed: int) -> None:
    varying = [mean for mean in means if mean.varies]
    size = len(varying[0].values) if varying else 0
    chance, places = random.Random(seed), range(size)
    for _ in range(RESAMPLES if varying else 0):
        pick = operator.itemgetter(*chance.choices(places, k=size))
        for mean in varying:
            mean.draw(pick)


def _paired(one: _Mean, other: _Mean) -> Column:
    both = zip(one.values, one.defined, other.values, other.defined, strict=True)
    return [a - b if there and here else None for a, there, b, here in both]


def _difference(mean: _Mean, base: _Mean | None) -> Difference | None:
    """Of `mean` from `base`, or `mean` itself where it is one of pairs."""
    if mean.value is None or (base is not None and base.value is None):
        return None
    value = mean.value - (base.value or 0.0 if base else 0.0)
    against = base.draws if base else [0.0] * RESAMPLES
    gaps = [a - b for a, b in zip(mean.draws, against, strict=True) if a is not None and b is not None]
    low, high = _interval(gaps, value)
    p = min(1.0, 2 * min(sum(gap <= 0 for gap in gaps), sum(gap >= 0 for gap in gaps)) / max(len(gaps), 1))
    return Difference(value, low, high, p, significant=mean.rows > 1 and (low > 0 or high < 0))


def _interval(draws: Sequence[float | None], value: float) -> tuple[float, float]:
    """The percentile interval; `value` itself where nothing could be drawn."""
    ordered = sorted(draw for draw in draws if draw is not None)
    if not ordered:
        return value, value
    cut = int(len(ordered) * (1 - _LEVEL) / 2)
    return ordered[cut], ordered[-1 - cut]


def mean(column: Column) -> Estimate:
    """The mean of a column alone."""
    found = _Mean(column)
    return Estimate(found.value, found.rows)
