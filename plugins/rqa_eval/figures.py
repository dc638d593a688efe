"""The results that metrics.json holds for strategies and metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec


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
        """How many questions it has answers to, unless all: " (106 of 400)"."""
        return f" ({self.rows:,} of {self.questions:,})" if self.rows < self.questions else ""


class Metric(msgspec.Struct, frozen=True):
    """A metric. `unit` is "share" (0 to 1), "count", "seconds" or "money"; `better` is "higher", "lower" or ""."""

    name: str
    summary: str = ""
    unit: str = ""
    better: str = ""


class Group(msgspec.Struct, frozen=True):
    """The estimates by strategy and metric for a set (None: all), a condition and optionally a slice of a view."""

    rows: int
    strategies: dict[str, dict[str, Estimate]]
    set: str | None = None
    condition: str | None = None
    view: str | None = None
    slice: str | None = None


class Passages(msgspec.Struct, frozen=True, rename="kebab"):
    """The quality of the passages of `questions`: the mean share with a gold answer, and the share of any."""

    questions: int
    has_answer: float
    retrieval_precision: float


class Figures(msgspec.Struct, frozen=True):
    """The content of metrics.json. `metric` is the main metric; `views` maps a view to the strategies it depends on."""

    format: int
    metric: str
    metrics: list[Metric]
    strategies: list[StrategyResult]
    groups: list[Group]
    baseline: str | None = None
    views: dict[str, list[str]] = {}
    passages: Passages | None = None

    @property
    def units(self) -> dict[str, str]:
        """The unit of each metric."""
        return {metric.name: metric.unit for metric in self.metrics}

    @property
    def incomplete(self) -> list[StrategyResult]:
        """The strategies with answers to only some of the questions. They are not compared with others."""
        return [result for result in self.strategies if result.coverage]


def on_fewer_questions(total: int, measured: Mapping[str, Iterable[int]]) -> str:
    """Return the metrics that have fewer values than `total`: "em on 4 of 5; f1, hit on 1 to 3 of 5", "" if none.

    `measured` has for each metric the number of values of every strategy.
    """
    spans: dict[str, list[str]] = {}
    for name, counts in measured.items():
        rows = [count for count in counts if count] or [0]
        if min(rows) < total:
            span = f"{min(rows):,}" if min(rows) == max(rows) else f"{min(rows):,} to {max(rows):,}"
            spans.setdefault(f"{span} of {total:,}", []).append(name)
    return "; ".join(f"{', '.join(names)} on {span}" for span, names in spans.items())
