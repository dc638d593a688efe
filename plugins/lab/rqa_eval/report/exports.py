"""Export reports as Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from robust_qa.kit import printable, single_line

from .runs import Run
from .tables import Cell, Table

CSV_COLUMNS = (
    "run", "set", "condition", "view", "slice", "strategy", "metric", "unit",
    "value", "low", "high", "rows", "difference", "difference_low", "difference_high", "p", "significant",
)  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # spreadsheets run such a cell as a formula


def markdown(tables: Iterable[Table]) -> str:
    """Return the tables as GitHub Markdown, with all names escaped."""
    parts = []
    for table in tables:
        heads = [*table.heads, *(column.name for column in table.columns)]
        lines = [*([_plain(table.lead), ""] if table.lead else ()), f"## {_plain(table.title)}", ""]
        lines.append(_line(map(_plain, heads)))
        lines.append(_line(["---"] * len(table.heads) + ["---:"] * len(table.columns)))
        lines += [_line([*map(_plain, keys), *map(_figure, cells)]) for keys, cells in table.rows]
        lines += [part for note in table.notes for part in ("", _plain(note))]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _line(parts: Iterable[str]) -> str:
    return f"| {' | '.join(parts)} |"


def _plain(text: str) -> str:
    line = html.escape(single_line(text), quote=False)
    return re.sub(r"([\\`*_\[\]|#~!])", r"\\\1", line)


def _figure(cell: Cell) -> str:
    value = f"{cell.text}{cell.mark and ' '}{cell.mark}"
    return f"{f'**{value}**' if cell.best else value}{cell.interval and f' ({cell.interval})'}"


def comma_separated(runs: Sequence[Run]) -> str:
    """Return a CSV file with a row for each estimate of each group. Formulas are quoted."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for run in runs:
        units = {metric.name: metric.unit for metric in run.figures.metrics}
        for group in run.figures.groups:
            place = (run.name, group.set, group.condition, group.view, group.slice)
            for strategy, estimates in group.strategies.items():
                for metric, found in estimates.items():
                    names = (*place, strategy, metric, units.get(metric))
                    figures: tuple[Any, ...] = (found.value, found.low, found.high, found.rows)
                    if difference := found.difference:
                        figures += (difference.value, difference.low, difference.high, difference.p)
                        figures += (difference.significant,)
                    writer.writerow([*map(_escape_formula, names), *figures])
    return out.getvalue()


def _escape_formula(text: str | None) -> str:
    shown = printable(text or "")
    return f"'{shown}" if shown.startswith(_FORMULA) else shown


def as_json(runs: Sequence[Run]) -> str:
    """Return the name, run.json and metrics.json of each run as JSON."""
    built = [
        {"run": run.name, "plan": msgspec.to_builtins(run.plan), **msgspec.to_builtins(run.figures)} for run in runs
    ]
    return json.dumps({"runs": built}, indent=2, allow_nan=False) + "\n"
