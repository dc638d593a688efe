"""The result of runs in a sentence, and runs joined by question. Both compare question by question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import TypeAlias

from ..estimates import LEVEL, Difference, Estimate, estimate
from ..gate import StoredScores
from .runs import Metric, Run
from .tables import Cell, Column, Table, counted, estimate_cell, percent

_Values: TypeAlias = Mapping[tuple[str, int, str], float]  # by set, row and question


def conclusion(runs: Sequence[Run]) -> str:
    """Return for each run a sentence that says which strategy is the best by the main metric, and whether surely."""
    return " ".join(f"{run.name}: {_sentence(run)}" if len(runs) > 1 else _sentence(run) for run in runs)


def joined(runs: Sequence[Run]) -> Iterator[Table]:
    """Yield a table for each run but the first: what its strategies do with the questions of the first run."""
    for run in runs[1:]:
        metric = _metric(runs[0])
        before, now = _values(runs[0], metric.name), _values(run, metric.name)
        rows = []
        for strategy, answered in before.items():
            if shared := [question for question in answered if question in now.get(strategy, {})]:
                found = _compared(now[strategy], answered, shared)
                cells = (estimate_cell(found[which], "share") for which in ("other", "one"))
                gap = found["one"].difference or Difference()
                difference = estimate_cell(Estimate(gap.value, len(shared), gap.low, gap.high), "share")
                rows.append(((strategy,), (Cell(f"{len(shared):,}"), *cells, difference)))
        if rows:
            yield Table(
                title=f"{metric.name} (%) of the same questions",
                heads=("strategy",),
                columns=tuple(map(Column, ("questions", runs[0].name, run.name, "difference"))),
                rows=tuple(rows),
                notes=(f"▲ ▼: significantly above or below {runs[0].name} (p < 0.05, one comparison).",),
            )


def _sentence(run: Run) -> str:
    metric = _metric(run)
    values = _values(run, metric.name)
    sign, most, more = (-1, "least", "less") if metric.better == "lower" else (1, "most", "more")
    means = {name: fmean(of.values()) for name, of in values.items()}
    best, *others = sorted(means, key=lambda name: -sign * means[name]) or [""]
    if not best:
        return "No question could be scored."
    told = {name: f"{percent(means[name])} %" for name in means}
    what, times = "repetition" if run.figures.spread else "condition", len(run.plan.conditions)
    of = "" if times == 1 else f" over {counted(times, what)}"
    often = {"accuracy": "right", "wrong": "wrong"}.get(metric.name, "")
    if not others:
        asked = counted(len(values[best]), "question")
        return f"{best} is {often} on {told[best]} of {asked}{of}." if often else f"{best}: {metric.name} {told[best]}."
    equal = [best, *(name for name in others if told[name] == told[best])]
    if len(equal) > 1:
        names = f"{', '.join(equal[:-1])} and {equal[-1]}" if len(equal) < 4 else f"{len(equal)} strategies"
        alike = f"are {often} equally often" if often else f"have the same {metric.name}"
        return f"{names} {alike} ({told[best]}){of}."
    difference = _compared(values[best], values[others[0]], [*values[best]])["one"].difference
    p = 1.0 if difference is None or difference.p is None else difference.p * len(others)  # Bonferroni
    first = f"is {often} {most} often" if often else f"has the {'highest' if sign > 0 else 'lowest'} {metric.name}"
    surely = f"{'' if p < 1 - LEVEL else 'not '}significantly {more if often else 'better'}"
    return f"{best} {first} ({told[best]}){of}, {surely} than {others[0]} ({told[others[0]]})."


def _metric(run: Run) -> Metric:
    """Return the main metric, or what decides whether an answer is right if that is no share with a better end."""
    known = {metric.name: metric for metric in run.figures.metrics}
    main = known.get(run.figures.metric)
    fits = main is not None and main.better and main.unit == "share"
    return main if main and fits else known.get(run.correctness, Metric(run.correctness, "", "share", "higher"))


def _values(run: Run, metric: str) -> dict[str, _Values]:
    """Return by strategy the metric of each question, as its mean over conditions and repetitions."""
    found: dict[str, dict[tuple[str, int, str], list[float]]] = {}
    complete = [name for name in run.answered if name not in run.incomplete]
    for key, scores in StoredScores.load(run.folder).by_question.items():
        for strategy in complete:
            if (value := scores.get(strategy, {}).get(metric)) is not None:
                found.setdefault(strategy, {}).setdefault((key.set, key.source_row, key.question), []).append(value)
    return {strategy: {key: fmean(each) for key, each in values.items()} for strategy, values in found.items()}


def _compared(one: _Values, other: _Values, keys: Sequence[tuple[str, int, str]]) -> dict[str, Estimate]:
    return estimate({"one": [*map(one.get, keys)], "other": [*map(other.get, keys)]}, {"one": "other"})
