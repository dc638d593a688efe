"""From outcomes to figures: each metric of each answer, and the means over sets, conditions and slices."""

from __future__ import annotations

import asyncio
import inspect
import json
import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from robust_qa import Metric, Outcome, PluginError, RqaError

from .estimates import Estimate, estimate, mean
from .outcomes import Asked
from .slices import View

if TYPE_CHECKING:
    from numpy.typing import NDArray

_AT_ONCE = 64  # questions whose metrics are taken together, so that what an evaluator scores meets in batches
_NONE = math.nan
_SLACK = 1e-3  # sums of floats end a little beside a bound
_FAILED = "Leave it out with --metrics, or mend the plugin it is of."


@dataclass(slots=True)
class Counted:
    """Where a question counts: its set and condition, and its slices by view."""

    set: str
    condition: str
    slices: dict[str, list[str]]


@dataclass(slots=True)
class Scores:
    """The values of all metrics, by strategy and metric, in the order of the questions; NaN where there is none."""

    metrics: Sequence[Metric]
    views: Sequence[View]
    questions: list[Counted] = field(default_factory=list)
    columns: dict[str, dict[str, array[float]]] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)  # answer lines by strategy
    failed: dict[str, int] = field(default_factory=dict)
    first_error: dict[str, str] = field(default_factory=dict)

    @classmethod
    async def of(
        cls, asked: Iterable[Asked], strategies: Sequence[str], metrics: Sequence[Metric], views: Sequence[View]
    ) -> Scores:
        """Take every metric of every outcome. PluginError names a metric that fails."""
        scores = cls(metrics, views)
        scores.columns = {name: {metric.name: array("d") for metric in metrics} for name in strategies}
        scores.rows, scores.failed = dict.fromkeys(strategies, 0), dict.fromkeys(strategies, 0)
        questions = iter(asked)
        while chunk := list(islice(questions, _AT_ONCE)):
            pairs = [(one, name) for one in chunk for name in one.outcomes]
            values = await asyncio.gather(*(_measure(metrics, one.outcomes[name]) for one, name in pairs))
            found = {(one.number, name): value for (one, name), value in zip(pairs, values, strict=True)}
            for one in chunk:
                scores._add(one, {name: found[one.number, name] for name in one.outcomes})
        return scores

    def _add(self, asked: Asked, values: Mapping[str, Sequence[float]]) -> None:
        for name, columns in self.columns.items():
            for place, column in enumerate(columns.values()):
                column.append(values[name][place] if name in values else _NONE)
        for name in values:
            self.rows[name] += 1
        for name, message in asked.errors.items():
            self.failed[name] += 1
            self.first_error.setdefault(name, message)
        right = {name: self._right(name) for name in values}
        slices = {view.name: list(view.of(asked.row, right)) for view in self.views}
        self.questions.append(Counted(asked.row["set"], asked.row["condition"], slices))

    def _right(self, strategy: str) -> bool | None:
        """Whether its last answer is right."""
        value = self.columns[strategy]["accuracy"][-1]
        return None if math.isnan(value) else value == 1

    @property
    def whole(self) -> set[str]:
        """The strategies that have answers to all questions: only these are compared with each other."""
        return {name for name, rows in self.rows.items() if rows == len(self.questions)}

    def lines(self) -> Iterator[str]:
        """The lines of scores.jsonl."""
        for place, question in enumerate(self.questions):
            scores = {
                name: {metric: _number(column[place]) for metric, column in columns.items()}
                for name, columns in self.columns.items()
            }
            line = {"row": place + 1, "set": question.set, "condition": question.condition}
            yield json.dumps({**line, "slices": question.slices, "scores": scores}) + "\n"

    def groups(self, *, baseline: str | None, seed: int) -> list[dict[str, Any]]:
        """The groups of metrics.json: all sets, each set, each condition, and their slices."""
        sets = list(dict.fromkeys(question.set for question in self.questions))
        conditions = list(dict.fromkeys(question.condition for question in self.questions))
        found = []
        for name in [None, *sets] if len(sets) > 1 else sets:
            for condition in conditions:
                of = [n for n, q in enumerate(self.questions) if q.condition == condition and name in (None, q.set)]
                about = {"set": name, "condition": condition}
                found.append(self._group(of, about | {"view": None, "slice": None}, baseline, seed))
                for view in self.views:
                    for cut in view.slices:
                        inside = [n for n in of if cut in self.questions[n].slices[view.name]]
                        # Who is right decides what is in such a slice: a difference there says nothing.
                        against = None if view.needs else baseline
                        found.append(self._group(inside, about | {"view": view.name, "slice": cut}, against, seed))
        return found

    def _group(self, places: Sequence[int], about: dict[str, Any], baseline: str | None, seed: int) -> dict[str, Any]:
        at = np.asarray(places, dtype=np.intp)
        estimates: dict[str, dict[str, Any]] = {name: {} for name in self.columns}
        taken: dict[str, dict[tuple[str, str], NDArray[np.float64]]] = {"drawn": {}, "plain": {}}
        for metric in self.metrics:
            kind = "drawn" if metric.unit == "share" else "plain"  # of costs the mean will do
            for name, columns in self.columns.items():
                taken[kind][name, metric.name] = np.asarray(columns[metric.name])[at]
        compared = self.whole - {baseline}
        against = {key: (baseline, key[1]) for key in taken["drawn"] if baseline and key[0] in compared}
        found = estimate(taken["drawn"], against, seed=seed)
        found |= {key: mean(column) for key, column in taken["plain"].items()}
        for name, listed in estimates.items():
            listed.update({metric.name: _listed(found[name, metric.name]) for metric in self.metrics})
        return {**about, "rows": len(places), "strategies": estimates}


async def _measure(metrics: Sequence[Metric], outcome: Outcome) -> list[float]:
    found: dict[int, float] = {}
    for metric in metrics:
        if id(metric.measure) not in found:  # some have two names
            found[id(metric.measure)] = await _value(metric, outcome)
    return [found[id(metric.measure)] for metric in metrics]


async def _value(metric: Metric, outcome: Outcome) -> float:
    try:
        value = metric.measure(outcome)
        if inspect.isawaitable(value):
            value = await value
        number = _NONE if value is None else float(value)
    except (RqaError, KeyboardInterrupt, asyncio.CancelledError):
        raise
    except BaseException as error:  # also a panic of compiled code
        raise PluginError(
            f"Metric {metric.name!r} failed with {type(error).__name__}: {error}.",
            hint=_FAILED,
        ) from error
    if metric.unit == "share" and not -_SLACK <= number <= 1 + _SLACK and math.isfinite(number):
        raise PluginError(f"Metric {metric.name!r} gave {number:g}, and a share is from 0 to 1.", hint=_FAILED)
    return number if math.isfinite(number) else _NONE


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _listed(found: Estimate) -> dict[str, Any]:
    listed: dict[str, Any] = {"value": found.value, "rows": found.rows, "low": found.low, "high": found.high}
    if (gap := found.difference) is not None:
        listed["difference"] = {
            "value": gap.value,
            "low": gap.low,
            "high": gap.high,
            "p": gap.p,
            "significant": gap.significant,
        }
    return listed
