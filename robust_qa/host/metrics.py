"""Metrics for `rqa eval`: functions from an outcome to a number."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ..types import Answer, Passage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Measure: TypeAlias = "Callable[[Outcome], float | Awaitable[float | None] | None]"
Combine: TypeAlias = "Callable[[NDArray[np.float64], NDArray[np.float64]], float]"
Judge: TypeAlias = Callable[[str, Sequence[str]], Awaitable[list[float]]]


@dataclass(eq=False)
class Outcome:
    """One question of an evaluation with a strategy's answer.

    - `gold`: the facts of a correct answer, each as a tuple of alternative wordings; empty if unknown.
    - `unanswerable`: whether the right answer is none, because the row has an empty list of answers.
    - `answer`: the strategy's answer, without text if the question `failed`.
    - `passages`: the question's passages, None if it has none.
    - `planted`: positions of passages planted by an attack that wants `fake_answer` as the answer.
    - `row`: all fields of the question's row.
    - `cost`: the cost of the answer, None without prices.
    - `judge`: the evaluator's `score`, relevance in [-1, 1], or None. A text is relevant from `bar` on.
    """

    question: str
    gold: tuple[tuple[str, ...], ...]
    answer: Answer
    passages: tuple[Passage, ...] | None = None
    failed: bool = False
    fake_answer: str = ""
    planted: tuple[int, ...] = ()
    row: Mapping[str, Any] = field(default_factory=dict)
    cost: float | None = None
    judge: Judge | None = None
    bar: float = 0.0
    unanswerable: bool = False


@dataclass(eq=False)
class Metric:
    """A metric for `rqa eval`, reported as the mean over the questions.

    `measure(outcome)` returns a number, or None if undefined; it may be `async def`. `better` is the direction of
    improvement, "" if there is none. A "share" is from 0 to 1. `combine(values, accuracies)` returns the metric of
    several questions instead of the mean. In its arrays and its result, NaN means undefined.
    """

    name: str
    measure: Measure
    summary: str = ""
    unit: Literal["share", "count", "seconds", "money"] = "share"
    better: Literal["higher", "lower", ""] = "higher"
    combine: Combine | None = None

    def __post_init__(self) -> None:
        if self.unit not in ("share", "count", "seconds", "money") or self.better not in ("higher", "lower", ""):
            raise ValueError(f"metric {self.name!r} has an invalid unit {self.unit!r} or `better` {self.better!r}")
