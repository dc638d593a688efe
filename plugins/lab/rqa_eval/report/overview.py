"""The tables of a report: all metrics by strategy, and the main metric by set and by slice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..conditions import AS_GIVEN, REPEAT
from ..estimates import Estimate
from ..extras import METRICS as METRICS_OF_LAB
from ..extras import RATE, find
from ..metrics import METRICS
from .comparison import conclusion, joined
from .runs import Group, Metric, Run
from .tables import Cell, Column, Table, counted, estimate_cell, figure

# What most people read, after the main metric: the outcomes and the metrics of plugins, then these.
_OUTCOMES = ("accuracy", "wrong", "unanswered")
_MAIN = ("strict", "attack-success", "tokens", "seconds", "f1", "citation-precision")
_SHOWN = 5  # columns unless more are asked for
_OWN = frozenset([*METRICS_OF_LAB, *(metric.name for metric in METRICS)])


def tables(runs: Sequence[Run], chosen: Sequence[str] = (), *, every: bool = False, more: str = "") -> list[Table]:
    """Return a table of all strategies of all runs, then the tables by set and by slice of each run.

    It has five metrics, or those `chosen` (by default in `rqa eval`), or `every` one. `more` says how to see the
    others. Between several runs, there are tables of the questions that they share.
    """
    chosen = chosen or list(dict.fromkeys(name for run in runs for name in run.figures.chosen))
    repeated = [run for run in runs if run.figures.spread]
    found = [find("tables", REPEAT)(run) for run in repeated]
    if len(repeated) < len(runs):
        found.append(_strategies([run for run in runs if run not in repeated], chosen, every, more))
    found[0] = replace(found[0], lead=conclusion(runs))
    return [*found, *joined(runs), *(table for run in runs for table in _breakdowns(run, only=len(runs) == 1))]


def overalls(run: Run) -> Iterator[Group]:
    """Return the groups with all rows of a condition."""
    several = any(group.set is None for group in run.figures.groups)
    return (group for group in run.figures.groups if group.view is None and (group.set is None) == several)


def explained(condition: str) -> str:
    """Return the name of a condition. "as given" needs an explanation."""
    return f"{condition} (no passage added, changed or removed)" if condition == AS_GIVEN else condition


def metrics_of(runs: Iterable[Run]) -> dict[str, Metric]:
    """Return the metrics of runs by name."""
    found: dict[str, Metric] = {}
    for run in runs:
        for metric in run.figures.metrics:
            found.setdefault(metric.name, metric)
    return found


def _strategies(runs: Sequence[Run], chosen: Sequence[str], every: bool, more: str) -> Table:
    found = list(_figures(runs))
    known = metrics_of(runs)
    names = {
        name
        for _, figures, _ in found
        for name, estimate in figures.items()
        if estimate.value or (estimate.value is not None and known[name].unit == "share")
    }
    mains = [run.figures.metric for run in runs]
    of_plugins = (name for name in known if name not in _OWN)
    order = [*mains, "attack-success", *chosen] if chosen else [*mains, *_OUTCOMES, *of_plugins, *_MAIN, *known]
    measured = [metric for metric in _main_first(runs) if metric.name in names]
    first = [name for name in dict.fromkeys(order) if name in names][: None if chosen else _SHOWN]
    shown = [metric for metric in measured if every or metric.name in first]
    kept = [n for n in range(3) if n == 2 or len({key[n] for key, _, _ in found}) > 1]
    hidden = len(measured) - len(shown)
    rest = [f"Also measured: {counted(hidden, 'metric')} ({more})."] if more and hidden else []
    rows = []
    for key, figures, asked in found:
        comparable = [others for _, others, same in found if asked is not None and same == asked]
        bests = [_best([others.get(metric.name) for others in comparable], metric) for metric in shown]
        cells = [_cell(figures, metric, best) for metric, best in zip(shown, bests, strict=True)]
        rows.append((tuple(key[n] for n in kept), tuple(cells)))
    return Table(
        title="Strategies (shares in %)",
        heads=tuple(("run", "condition", "strategy")[n] for n in kept),
        columns=tuple(Column(metric.name, metric.summary) for metric in shown),
        rows=tuple(rows),
        notes=(*_notes(runs, shown), *rest),
    )


def _figures(runs: Sequence[Run]) -> Iterator[tuple[tuple[str, str, str], dict[str, Estimate], object]]:
    """Yield (run, condition, strategy), the estimates, and a key of the questions (None: only some were answered)."""
    for run in runs:
        for group in overalls(run):
            for name in _ordered(run, group):
                asked = None if name in run.incomplete else (run.asks, group.condition)
                yield (run.name, group.condition or "", run.label(name)), group.strategies[name], asked


def _main_first(runs: Sequence[Run]) -> list[Metric]:
    mains = {run.figures.metric for run in runs}
    return sorted(metrics_of(runs).values(), key=lambda metric: metric.name not in mains)


def _ordered(run: Run, group: Group) -> list[str]:
    order = [strategy.name for strategy in run.plan.strategies]
    return [*(name for name in order if name in group.strategies), *(n for n in group.strategies if n not in order)]


def _best(estimates: Iterable[Estimate | None], metric: Metric) -> float | None:
    values = [estimate.value for estimate in estimates if estimate is not None and estimate.value is not None]
    if len(values) < 2 or min(values) == max(values):
        return None
    return {"higher": max(values), "lower": min(values)}.get(metric.better)


def _cell(figures: dict[str, Estimate], metric: Metric, best: float | None) -> Cell:
    estimate = figures.get(metric.name)
    return estimate_cell(
        estimate, metric.unit, best=best is not None and estimate is not None and estimate.value == best
    )


def _notes(runs: Sequence[Run], shown: Sequence[Metric]) -> Iterator[str]:
    for run in runs:
        name = f"{run.name}: " if len(runs) > 1 else ""
        sizes: dict[int, list[str]] = {}
        for group in overalls(run):
            sizes.setdefault(group.rows, []).append(group.condition or "")
        for size, conditions in sizes.items():
            yield f"{name}{counted(size, 'question')}, {', '.join(map(explained, conditions))}."
        for note in (*_missing_values(run, shown), *remarks(run)):
            yield f"{name}{note}"


def remarks(run: Run) -> Iterator[str]:
    """Yield notes about the whole run."""
    if run.figures.over == "reply":
        yield "The whole last reply of the model counts as the answer."
    if run.figures.passages and len(run.plan.conditions) == 1:
        questions, passages = (figure(run.figures.passages[n], "share") for n in ("has-answer", "retrieval-precision"))
        yield (
            f"{questions} % of the questions with gold answers have a passage with one. On average {passages} % of the "
            "passages contain one."
        )
    whole = next(overalls(run))
    known = max((figures["accuracy"].rows for figures in whole.strategies.values() if "accuracy" in figures), default=0)
    if known and (without := whole.rows - known):
        yield f"{counted(without, 'question')} without a gold answer cannot be scored."
    answering = run.plan.answering
    parts = [f"{what} {answering[what].partition('.')[2]}" for what in ("reader", "evaluator") if what in answering]
    if parts:
        yield f"With {' and '.join(parts)}."
    if run.figures.baseline is not None:
        yield f"▲ ▼: significantly above or below {run.figures.baseline} (p < 0.05, one comparison)."
    for result in run.figures.strategies:
        if result.coverage:
            part = f"answered {result.rows:,} of {result.questions:,} questions"
            yield f"{result.name} {part}. It is not compared with the other strategies."
        if result.state == "left out":
            yield f"{result.name} was left out: {result.message}"
        elif result.failed:
            which = "every question" if result.state == "failed" else f"{result.failed:,} of {result.rows:,} questions"
            yield f"{result.name} failed on {which}. Failures count as wrong. First error: {result.message}"


def _missing_values(run: Run, shown: Sequence[Metric]) -> Iterator[str]:
    """Yield notes about metrics that some questions have no value of, for example without a gold answer."""
    notes: dict[str, list[str]] = {}
    for group in overalls(run):
        spans: dict[str, list[str]] = {}
        complete = [figures for name, figures in group.strategies.items() if name not in run.incomplete]
        for metric in shown:
            rows = [figures[metric.name].rows for figures in complete if metric.name in figures]
            rows = [number for number in rows if number]
            if rows and min(rows) < group.rows:
                span = f"{min(rows):,}" if min(rows) == max(rows) else f"{min(rows):,} to {max(rows):,}"
                spans.setdefault(f"{span} of {group.rows:,}", []).append(metric.name)
        if spans:
            text = "; ".join(f"{', '.join(names)} on {span}" for span, names in spans.items())
            notes.setdefault(text, []).append(group.condition or "")
    for text, conditions in notes.items():
        of = f" ({', '.join(conditions)})" if len(run.plan.conditions) > 1 else ""
        pairs = "" if run.figures.baseline is None else " Differences use the questions that both strategies have."
        yield f"Measured on fewer questions{of}: {text}.{pairs}"


def _breakdowns(run: Run, *, only: bool) -> Iterator[Table]:
    groups = run.figures.groups
    if any(group.set is None for group in groups):
        of_sets = [group for group in groups if group.view is None and group.set is not None]
        yield from (_breakdown(run, metric, "set", of_sets, only=only) for metric in _outcomes(run))
    for view in dict.fromkeys(group.view for group in groups if group.view is not None):
        of_view = [group for group in groups if group.view == view]
        if view == RATE:
            yield find("tables", view)(of_view, of="" if only else f", {run.name}")
            continue
        yield from (_breakdown(run, metric, view, of_view, only=only) for metric in _outcomes(run))


def _outcomes(run: Run) -> list[Metric]:
    """Return the main metric, and beside the accuracy what the other questions are: wrong or unanswered."""
    known, main = metrics_of([run]), run.figures.metric
    others = ("wrong", "unanswered") if main == "accuracy" else ()
    return [known.get(main) or Metric(main), *(known[name] for name in others if name in known)]


def _breakdown(run: Run, metric: Metric, by: str, groups: Sequence[Group], *, only: bool) -> Table:
    """Return a table of a metric: a row for each group, a column for each strategy."""
    names = list(dict.fromkeys(name for group in groups for name in _ordered(run, group)))
    keys = [(group.set or "all sets", group.condition or "", group.slice or "", f"{group.rows:,}") for group in groups]
    kept = [n for n in range(3) if len({key[n] for key in keys}) > 1] or [0 if by == "set" else 2]
    complete = [name for name in names if name not in run.incomplete]
    rows = []
    for group, key in zip(groups, keys, strict=True):
        estimates = {name: group.strategies.get(name, {}) for name in names}
        best = _best([estimates[name].get(metric.name) for name in complete], metric)
        cells = tuple(_cell(estimates[name], metric, best if name in complete else None) for name in names)
        rows.append(((*(key[n] for n in kept), key[3]), cells))
    needs = " and ".join(run.figures.views.get(by, []))
    note = f"The answers of {needs} define the slices. Values of 0 or 100 follow from the definition."
    unit, of = " (%)" if metric.unit == "share" else "", "" if only else f", {run.name}"
    return Table(
        title=f"{metric.name}{unit} by {by}{of}",
        heads=(*(("set", "condition", by)[n] for n in kept), "rows"),
        columns=tuple(Column(run.label(name)) for name in names),
        rows=tuple(rows),
        shaded=metric.unit == "share",
        notes=(note,) if needs else (),
    )
