"""Score answers: every metric of every answer, and the means over sets, conditions and slices."""

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

import msgspec
import numpy as np

from robust_qa import InputError, Metric, Outcome, PluginError, RqaError

from .estimates import Estimate, estimate, mean
from .metrics import over_reply, reads_text
from .outcomes import QuestionOutcomes
from .views import View

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BATCH = 64  # questions that are scored concurrently, so that an evaluator can batch them
_MOST_SLICES = 50
_LAST = 99  # after numbers
_NONE = math.nan
_TOLERANCE = 1e-3  # for rounding errors of a share
_HINT = "Leave it out with --metrics, or report it to the author of its plugin."


@dataclass(slots=True)
class Membership:
    """The set, the condition and the slices (by view) of a question."""

    set: str
    condition: str
    slices: dict[str, list[str]]


@dataclass(slots=True)
class Scores:
    """The values of all metrics by strategy and metric, in the order of the questions. NaN: no value."""

    metrics: Sequence[Metric]
    views: Sequence[View]
    questions: list[Membership] = field(default_factory=list)
    columns: dict[str, dict[str, array[float]]] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)  # number of answers by strategy
    failed: dict[str, int] = field(default_factory=dict)
    first_error: dict[str, str] = field(default_factory=dict)

    @classmethod
    async def of(
        cls,
        asked: Iterable[QuestionOutcomes],
        strategies: Sequence[str],
        metrics: Sequence[Metric],
        views: Sequence[View],
        *,
        over: str = "answer",
    ) -> Scores:
        """Compute every metric of every outcome, `over` the answer or the whole reply.

        PluginError names a metric that fails.
        """
        scores = cls(metrics, views)
        scores.columns = {name: {metric.name: array("d") for metric in metrics} for name in strategies}
        scores.rows, scores.failed = dict.fromkeys(strategies, 0), dict.fromkeys(strategies, 0)
        questions = iter(asked)
        while chunk := list(islice(questions, _BATCH)):
            pairs = [(one, name) for one in chunk for name in one.outcomes]
            values = await asyncio.gather(*(_measure(metrics, one.outcomes[name], over) for one, name in pairs))
            found = {(one.number, name): value for (one, name), value in zip(pairs, values, strict=True)}
            for one in chunk:
                scores._add(one, {name: found[one.number, name] for name in one.outcomes})
        return scores

    def _add(self, asked: QuestionOutcomes, values: Mapping[str, Sequence[float]]) -> None:
        for name, columns in self.columns.items():
            for place, column in enumerate(columns.values()):
                column.append(values[name][place] if name in values else _NONE)
        for name in values:
            self.rows[name] += 1
        for name, message in asked.errors.items():
            self.failed[name] += 1
            self.first_error.setdefault(name, message)
        correct = {name: self._last_correct(name) for name in values}
        slices = {view.name: list(view.assign(asked.row, correct)) for view in self.views}
        self.questions.append(Membership(asked.row["set"], asked.row["condition"], slices))

    def _last_correct(self, strategy: str) -> bool | None:
        """Return whether the strategy's last answer is right."""
        value = self.columns[strategy]["accuracy"][-1]
        return None if math.isnan(value) else value == 1

    @property
    def complete(self) -> set[str]:
        """The strategies with answers to all questions. Only these are compared."""
        return {name for name, rows in self.rows.items() if rows == len(self.questions)}

    def lines(self) -> Iterator[str]:
        """Yield the lines of scores.jsonl."""
        for place, question in enumerate(self.questions):
            scores = {
                name: {metric: _number(column[place]) for metric, column in columns.items()}
                for name, columns in self.columns.items()
            }
            line = {"row": place + 1, "set": question.set, "condition": question.condition}
            yield json.dumps({**line, "slices": question.slices, "scores": scores}) + "\n"

    def groups(self, *, baseline: str | None, seed: int) -> list[dict[str, Any]]:
        """Return the groups of metrics.json: all sets and each set, by condition, and their slices."""
        sets = list(dict.fromkeys(question.set for question in self.questions))
        conditions = list(dict.fromkeys(question.condition for question in self.questions))
        found = []
        for name in [None, *sets] if len(sets) > 1 else sets:
            for condition in conditions:
                rows = [n for n, q in enumerate(self.questions) if q.condition == condition and name in (None, q.set)]
                about = {"set": name, "condition": condition}
                found.append(self._group(rows, about | {"view": None, "slice": None}, baseline, seed))
                for view in self.views:
                    for cut in view.slices or self._slices(view.name):
                        inside = [n for n in rows if cut in self.questions[n].slices[view.name]]
                        # Correctness decides what is in such a slice, so a difference there means nothing.
                        against = None if view.needs else baseline
                        found.append(self._group(inside, about | {"view": view.name, "slice": cut}, against, seed))
        return found

    def _slices(self, view: str) -> list[str]:
        """Return the slices of a view that the questions are in, sorted. Raises InputError if there are too many."""
        found = {cut for question in self.questions for cut in question.slices[view]}
        if len(found) > _MOST_SLICES:
            raise InputError(f"The field `{view}` has {len(found):,} values. `--by` shows at most {_MOST_SLICES}.")
        return sorted(found, key=lambda cut: (len(cut), cut) if cut.isdigit() else (_LAST, cut))

    def _group(self, rows: Sequence[int], about: dict[str, Any], baseline: str | None, seed: int) -> dict[str, Any]:
        at = np.asarray(rows, dtype=np.intp)
        shares: dict[tuple[str, str], NDArray[np.float64]] = {}
        costs: dict[tuple[str, str], NDArray[np.float64]] = {}  # with means only
        combined: dict[tuple[str, str], Estimate] = {}
        for metric in self.metrics:
            for name, columns in self.columns.items():
                values = np.asarray(columns[metric.name])[at]
                if metric.combine:
                    accuracies = np.asarray(columns["accuracy"])[at]
                    combined[name, metric.name] = _combined(metric.combine(values, accuracies), accuracies)
                else:
                    kind = shares if metric.unit == "share" else costs
                    kind[name, metric.name] = values
        compared = self.complete - {baseline}
        against = {key: (baseline, key[1]) for key in shares if baseline and key[0] in compared}
        found = estimate(shares, against, seed=seed) | {key: mean(column) for key, column in costs.items()} | combined
        strategies = {
            name: {metric.name: _as_json(found[name, metric.name]) for metric in self.metrics} for name in self.columns
        }
        return {**about, "rows": len(rows), "strategies": strategies}


def _combined(value: float, accuracies: NDArray[np.float64]) -> Estimate:
    return Estimate(value, int((~np.isnan(accuracies)).sum())) if math.isfinite(value) else Estimate(None, 0)


async def _measure(metrics: Sequence[Metric], outcome: Outcome, over: str) -> list[float]:
    replied = over_reply(outcome) if over == "reply" else outcome
    return [await _value(metric, replied if reads_text(metric) else outcome) for metric in metrics]


async def _value(metric: Metric, outcome: Outcome) -> float:
    try:
        value = metric.measure(outcome)
        if inspect.isawaitable(value):
            value = await value
        number = _NONE if value is None else float(value)
    except RqaError:
        raise
    except Exception as error:
        raise PluginError(
            f"Metric {metric.name!r} failed with {type(error).__name__}: {error}.",
            hint=_HINT,
        ) from error
    if metric.unit == "share" and not -_TOLERANCE <= number <= 1 + _TOLERANCE and math.isfinite(number):
        raise PluginError(f"Metric {metric.name!r} returned {number:g}, but a share is from 0 to 1.", hint=_HINT)
    return number if math.isfinite(number) else _NONE


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _as_json(estimate: Estimate) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(estimate)
    if estimate.difference is None:
        del fields["difference"]
    return fields
