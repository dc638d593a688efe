"""The HTML page of `rqa report`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rqa_eval.report.overview import explained, metrics_of, overalls, tables
from rqa_eval.report.runs import Group, Run

from ..cards import card_tables
from ..certified import certified_tables
from .html import asset, escape, page, section, table
from .pareto import Plot, Point
from .planted import pictures
from .question_data import questions

_FRAME = 50_000  # bytes of styles and scripts, with some to spare
_COSTS = ("tokens", "calls", "seconds")  # the first with a value above 0 is drawn


def run_page(runs: Sequence[Run], size: float, *, every: bool) -> Iterator[str]:
    """Yield the parts of the page, of about `size` bytes at most. The traces of the questions are never all in memory.

    The tables are always whole. Questions that do not fit are left out.
    """
    names = ", ".join(run.name for run in runs)
    began = ", ".join(dict.fromkeys(run.plan.began[:10] for run in runs if run.plan.began))
    yield from page(f"rqa report: {names}", escape(began and f"Started {began}"), _body(runs, size), ["questions.js"])


def _body(runs: Sequence[Run], size: float) -> Iterator[str]:
    above = "".join(_tables(runs))
    yield above
    taken = 0
    for part in questions(runs, size - _FRAME - len(above.encode())):
        taken += len(part)
        yield part
    yield f'<footer class="faint">Compressed questions: {max(taken / 1e6, 0.1):,.1f} MB.</footer>\n'


def _tables(runs: Sequence[Run]) -> Iterator[str]:
    overview, *breakdowns = tables(runs)
    whole = replace(tables(runs, every=True)[0], title="All metrics (shares in %)")
    has_more = len(whole.columns) > len(overview.columns)
    rest = f"<details><summary>All metrics</summary>{table(whole)}</details>" if has_more else ""
    yield f'<p class="lead">{escape(overview.lead)}</p>\n'
    yield section("strategies", "Strategies", table(overview), rest)
    yield from _costs(runs)
    if breakdowns:
        yield section("slices", "By run, set and slice", *map(table, breakdowns))
    drawn = [picture for run in runs for picture in pictures(run)]
    cards = [*card_tables(runs), *certified_tables(runs)]
    if drawn or cards:
        yield section("robustness", "Robustness", *drawn, *map(table, cards))
    yield section("questions", "Questions", asset("questions.html"))


def _costs(runs: Sequence[Run]) -> Iterator[str]:
    """Yield the section with a plot for each condition of each run. Plots of the same figures have the same axes."""
    drawn: dict[tuple[str, str], list[tuple[str, list[Point]]]] = {}
    for run in runs:
        known = metrics_of([run])
        metric = known.get(run.figures.metric)
        if metric is None or metric.better == "lower":
            metric = known.get(run.correctness)
        for group in overalls(run):
            cost = next((cost for cost in _COSTS if _has_values(group, cost)), "")
            points = list(_points(run, group, metric.name, cost)) if metric is not None else []
            timed = [point for point in points if point.cost is not None]
            if metric is not None and metric.unit == "share" and len(points) > 1 and timed:
                of = [run.name if len(runs) > 1 else "", explained(group.condition or "")]
                title = " · ".join(filter(None, of))
                drawn.setdefault((metric.name, f"{cost} per question"), []).append((title, points))
    plots = []
    for axes, figures in drawn.items():
        every = [point for _, points in figures for point in points]
        for title, points in figures:
            narrow = Plot(*axes, width=350, height=360, kind="narrow").draw(points, every)
            wide = Plot(*axes, width=860, height=420, kind="wide").draw(points) if len(figures) == 1 else ""
            kind = "" if wide else ' class="beside"'
            plots.append(f'<figure{kind}><figcaption class="faint">{escape(title)}</figcaption>{wide}{narrow}</figure>')
    dashed = any(point.cost is None for figures in drawn.values() for _, points in figures for point in points)
    if plots:
        note = "Circles: right. Crosses: wrong. The rest has no answer. Bars: 95 % intervals. "
        note += "Filled: no other strategy is as accurate for less."
        if dashed:
            note += " Dashed: all answers came from the cache, so their time is unknown."
        row = f'<div class="plots">{"".join(plots)}</div>'
        yield section("cost", "Accuracy against cost", row, f'<p class="note">{note}</p>')


def _has_values(group: Group, cost: str) -> bool:
    return any((spent := figures.get(cost)) and spent.value for figures in group.strategies.values())


def _points(run: Run, group: Group, metric: str, cost: str) -> Iterator[Point]:
    failed = {result.name for result in run.figures.strategies if result.state == "failed"}
    for name, figures in group.strategies.items():
        share, spent = figures.get(metric), figures.get(cost)
        if name in run.incomplete or share is None or share.value is None or spent is None:
            continue
        from_cache = spent.value is None and cost == "seconds" and name not in failed
        if 0 <= share.value <= 1 and (from_cache or (spent.value is not None and spent.value >= 0)):
            wrong = figures.get("wrong") if metric == "accuracy" else None
            yield Point(name, spent.value, share.value, share.low, share.high, wrong.value if wrong else None)
