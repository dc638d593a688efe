"""What an evaluation measures: an outcome in, a number out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from ..types import Answer, Passage

Measure: TypeAlias = "Callable[[Outcome], float | Awaitable[float | None] | None]"
Judge: TypeAlias = Callable[[str, Sequence[str]], Awaitable[list[float]]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question of an evaluation, and what a strategy made of it.

    `gold` are the facts that a right answer states, each with the ways to say it; none where they are not known.
    `passages` are what there was to answer from, None for a question without any, and `planted` the positions of those
    that an attack put there, to have `fake_answer` answered. `row` holds all fields of the question's row. A question
    that failed has an answer without text, and `failed` is true. `cost` is that of the answer, None without prices.
    `judge` scores texts as the evaluator does (relevance in [-1, 1]), and is None where there is none; from `bar` on it
    takes a text to be relevant.
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


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric for `rqa eval`: `measure(outcome)` is a number, or None where it is not defined.

    `measure` may be `async def`. The mean over the questions is what is told. `better` says which way is better, ""
    neither; a "share" is from 0 to 1.
    """

    name: str
    measure: Measure
    summary: str = ""
    unit: Literal["share", "count", "seconds", "money"] = "share"
    better: Literal["higher", "lower", ""] = "higher"

    def __post_init__(self) -> None:
        if self.unit not in ("share", "count", "seconds", "money") or self.better not in ("higher", "lower", ""):
            raise ValueError(f"metric {self.name!r} has {self.unit!r} as unit and {self.better!r} as what is better")
