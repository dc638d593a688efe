"""The gate of `rqa eval`: whether a run is significantly worse than a stored run of the same questions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from robust_qa import InputError, Metric

from .estimates import LEVEL, estimate, is_binary
from .folder import Lines

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HINT = "Name a folder that `rqa eval` wrote, with the same sets."


class Key(NamedTuple):
    """What makes a question of two runs the same."""

    set: str
    condition: str
    source_row: int
    repetition: int
    question: str


class _Question(msgspec.Struct, frozen=True):
    set: str
    condition: str
    source_row: int
    question: str
    repetition: int = 0


class _Scored(msgspec.Struct, frozen=True):
    scores: dict[str, dict[str, float | None]]


@dataclass(frozen=True, slots=True)
class StoredScores:
    """The scores of a run by question, strategy and metric."""

    folder: Path
    by_question: Mapping[Key, Mapping[str, Mapping[str, float | None]]]

    @classmethod
    def load(cls, folder: Path) -> StoredScores:
        """Read a run. Raises InputError if it is not complete."""
        if not folder.is_dir():
            raise InputError(f"There is no run {folder}.", hint=_HINT)
        found = {}
        with Lines(folder / "questions.jsonl") as questions, Lines(folder / "scores.jsonl") as scores:
            for number in range(1, len(scores) + 1):
                asked, scored = questions.get(number, _Question), scores.get(number, _Scored)
                if asked is not None and scored is not None:
                    key = Key(asked.set, asked.condition, asked.source_row, asked.repetition, asked.question)
                    found[key] = scored.scores
        return cls(folder, found)

    def column(self, keys: Sequence[Key], strategy: str, metric: str) -> NDArray[np.float64]:
        """Return the values of a metric, NaN where a question has none."""
        values = (self.by_question[key].get(strategy, {}).get(metric) for key in keys)
        return np.array([math.nan if value is None else value for value in values])

    def check_shares(self, questions: Sequence[tuple[str, str]]) -> None:
        """Raise InputError if the run has none of these pairs of a set and a question."""
        if not {(key.set, key.question) for key in self.by_question} & set(questions):
            raise InputError(f"{self.folder} has none of the questions.", hint=_HINT)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A metric of a strategy under a condition, before and now, and the p of a paired test of the difference."""

    strategy: str
    condition: str
    metric: str
    before: float
    now: float
    is_worse: bool
    p: float
    test: str


def compare(before: StoredScores, now: StoredScores, metrics: Sequence[Metric]) -> list[Comparison]:
    """Return the comparisons of all shares that have a better direction and changed, with Holm's correction of p.

    Raises InputError if the runs have no strategy and condition in common.
    """
    keys = [key for key in now.by_question if key in before.by_question]
    found = [
        comparison
        for condition in dict.fromkeys(key.condition for key in keys)
        for comparison in _compared(before, now, metrics, [key for key in keys if key.condition == condition])
    ]
    if not found:
        raise InputError(
            f"{before.folder} and {now.folder} have no strategy and condition in common.",
            hint="Use the strategies and options of the stored run.",
        )
    return _holm([comparison for comparison in found if comparison.before != comparison.now])


def worse(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparisons that are significantly worse."""
    return [one for one in comparisons if one.is_worse and one.p < 1 - LEVEL]


def _compared(
    before: StoredScores, now: StoredScores, metrics: Sequence[Metric], keys: Sequence[Key]
) -> Iterator[Comparison]:
    """Yield the comparisons of questions under one condition."""
    for strategy in dict.fromkeys(name for key in keys for name in now.by_question[key]):
        for metric in metrics:
            if metric.unit == "share" and metric.better and not metric.combine:
                ours, theirs = now.column(keys, strategy, metric.name), before.column(keys, strategy, metric.name)
                known = ~np.isnan(ours - theirs)
                if known.any():
                    yield _comparison(strategy, keys[0].condition, metric, theirs[known], ours[known])


def _comparison(
    strategy: str, condition: str, metric: Metric, before: NDArray[np.float64], now: NDArray[np.float64]
) -> Comparison:
    difference = estimate({"now": now, "before": before}, {"now": "before"})["now"].difference
    assert difference is not None
    assert difference.p is not None
    was, value = float(before.mean()), float(now.mean())
    return Comparison(
        strategy,
        condition,
        metric.name,
        was,
        value,
        is_worse=value < was if metric.better == "higher" else value > was,
        p=difference.p,
        test="McNemar's exact test" if is_binary(before) and is_binary(now) else "a randomisation test",
    )


def _holm(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparisons, the smallest p first, with p corrected for their number (Holm 1979)."""
    found: list[Comparison] = []
    for place, one in enumerate(sorted(comparisons, key=lambda each: each.p)):
        least = found[-1].p if found else 0.0
        found.append(replace(one, p=max(least, min(1.0, one.p * (len(comparisons) - place)))))
    return found
