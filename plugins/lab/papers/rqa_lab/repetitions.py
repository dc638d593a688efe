"""How a metric varies over the repetitions of a run."""

from __future__ import annotations

import numpy as np

from rqa_eval.report.overview import metrics_of, overalls, remarks
from rqa_eval.report.runs import Run
from rqa_eval.report.tables import Cell, Column, Table, figure
from rqa_eval.scoring import Scores


def spread(scores: Scores, metric: str) -> dict[str, dict[str, float]]:
    """Return by strategy how a metric varies over the repetitions of a run.

    `deviation`: the standard deviation of the means of the repetitions. `low`, `median`, `high`: the quartiles over
    the questions of the mean of each question (ActiveRAG, Section 5).
    """
    if any(one.name == metric and one.combine for one in scores.metrics):
        return {}  # it has no value for each question
    conditions = list(dict.fromkeys(question.condition for question in scores.questions))
    order = sorted(range(len(scores.questions)), key=lambda n: conditions.index(scores.questions[n].condition))
    found = {}
    for name in scores.complete:
        values = np.asarray(scores.columns[name][metric])[order].reshape(len(conditions), -1)
        known = values[:, ~np.isnan(values).any(axis=0)]
        if known.size:
            low, median, high = np.quantile(known.mean(0), (0.25, 0.5, 0.75))
            deviation = known.mean(1).std(ddof=1)
            found[name] = {"deviation": float(deviation), "low": float(low), "median": float(median)}
            found[name]["high"] = float(high)
    return found


def spread_table(run: Run) -> Table:
    """Return the table of the main metric over the repetitions of the questions."""
    main, spread = run.figures.metric, run.figures.spread
    groups = list(overalls(run))
    unit = metrics_of([run])[main].unit
    rows = []
    for name, parts in spread.items():
        values = [value for group in groups if (value := group.strategies[name][main].value) is not None]
        shown = (sum(values) / len(values), *(parts[key] for key in ("deviation", "low", "median", "high")))
        rows.append(((name,), tuple(Cell(figure(value, unit)) for value in shown)))
    return Table(
        title=f"{main} over {len(groups):,} repetitions, {run.name}{' (%)' if unit == 'share' else ''}",
        heads=("strategy",),
        columns=tuple(map(Column, ("mean", "deviation", "lower quartile", "median", "upper quartile"))),
        rows=tuple(rows),
        notes=(
            "Deviation: standard deviation of the means of the repetitions. Quartiles and median: over the means of "
            "the questions.",
            *remarks(run),
        ),
    )
