"""The results that metrics.json holds for strategies and metrics."""

from __future__ import annotations

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
        """Return " (106 of 400)" if some questions have no answer, else ""."""
        return f" ({self.rows:,} of {self.questions:,})" if self.rows < self.questions else ""
