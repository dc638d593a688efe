"""The page of a report: strategies side by side, accuracy against cost, slices, and every question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .drilldown import questions
from .overview import metrics_of, overalls, tables
from .page import asset, escape, page, section, table
from .pareto import Picture, Point
from .runs import Group, Run

_COSTS = ("tokens", "calls", "seconds")  # the first that any strategy took some of
_DEAREST = 1e12  # what costs more is not drawn


def run_page(runs: Sequence[Run]) -> Iterator[str]:
    """The parts of the page, in order. Memory grows with the index of the questions, and not with their traces."""
    names = ", ".join(run.name for run in runs)
    began = ", ".join(dict.fromkeys(run.plan.began[:10] for run in runs if run.plan.began))
    yield from page(f"rqa report: {names}", escape(began and f"Begun {began}"), _body(runs), ["questions.js"])


def _body(runs: Sequence[Run]) -> Iterator[str]:
    overview, *breakdowns = tables(runs)
    yield section("strategies", "Strategies", table(overview))
    yield from _costs(runs)
    if breakdowns:
        yield section("slices", "By set and by slice", *map(table, breakdowns))
    yield section("questions", "Questions", asset("questions.html"))
    size = 0
    for part in questions(runs):
        size += len(part)
        yield part
    yield f'<footer class="faint">The questions take {max(size / 1e6, 0.1):,.1f} MB of this page, packed.</footer>\n'


def _costs(runs: Sequence[Run]) -> Iterator[str]:
    """A picture for each condition of each run."""
    pictures = []
    for run in runs:
        known = metrics_of([run])
        metric = known.get(run.figures.metric)
        if metric is None or metric.better == "lower":  # how often an attack succeeds is nothing to pay for
            metric = known.get(run.verdict)
        for group in overalls(run):
            cost = next((cost for cost in _COSTS if _is_spent(group, cost)), "")
            points = list(_points(run, group, metric.name, cost)) if metric is not None else []
            if metric is not None and metric.unit == "share" and len(points) > 1:
                of = [run.name if len(runs) > 1 else "", group.condition or ""]
                what = metric.name, f"{cost} a question"
                wide = Picture(*what, width=860, height=420, kind="wide").draw(points)
                narrow = Picture(*what, width=350, height=360, kind="narrow").draw(points)
                title = escape(" · ".join(filter(None, of)))
                pictures.append(f'<figure><figcaption class="faint">{title}</figcaption>{wide}{narrow}</figure>')
    if pictures:
        told = '<p class="note">Filled: no other strategy is as good for less. Bars: 95 % intervals.</p>'
        yield section("cost", "What it costs to be right", *pictures, told)


def _is_spent(group: Group, cost: str) -> bool:
    return any((spent := figures.get(cost)) and spent.value for figures in group.strategies.values())


def _points(run: Run, group: Group, metric: str, cost: str) -> Iterator[Point]:
    for name, figures in group.strategies.items():
        if name in run.half_asked:
            continue
        share, spent = figures.get(metric), figures.get(cost)
        if share is None or share.value is None or spent is None or spent.value is None:
            continue
        if 0 <= share.value <= 1 and 0 <= spent.value < _DEAREST:
            yield Point(name, spent.value, share.value, share.low, share.high)
