"""Tables as data, for terminal, Markdown and HTML output."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ..estimates import Estimate

NOTHING = "–"
ABOVE, BELOW = "▲", "▼"  # significantly above or below the baseline


@dataclass(frozen=True, slots=True)
class Cell:
    """A formatted value with its interval and significance mark. `level` (0 to 1) is for the shading of heat maps."""

    text: str
    interval: str = ""
    mark: str = ""
    level: float | None = None
    best: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """A column and its description."""

    name: str
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table. Each row has its keys (one for each head) and its cells. `shaded` makes it a heat map.

    `lead` says in a sentence what it shows.
    """

    title: str
    heads: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[tuple[tuple[str, ...], tuple[Cell, ...]], ...]
    shaded: bool = False
    notes: tuple[str, ...] = field(default=())
    lead: str = ""


def share_cell(share: float | None) -> Cell:
    """Return a cell for a share from 0 to 1."""
    return Cell(NOTHING) if share is None else Cell(percent(share), level=share)


def estimate_cell(estimate: Estimate | None, unit: str, *, best: bool = False) -> Cell:
    """Return a cell for an estimate in the unit of its metric."""
    if estimate is None or estimate.value is None:
        return Cell(NOTHING)
    interval = mark = ""
    if estimate.low is not None and estimate.high is not None and estimate.low < estimate.high:
        to = "–" if estimate.low >= 0 else " to "
        interval = f"{figure(estimate.low, unit)}{to}{figure(estimate.high, unit)}"
    difference = estimate.difference
    if difference is not None and difference.significant and difference.value:
        mark = ABOVE if difference.value > 0 else BELOW
    level = min(max(estimate.value, 0.0), 1.0) if unit == "share" else None
    return Cell(figure(estimate.value, unit), interval, mark, level, best)


def figure(value: float, unit: str) -> str:
    """Format a value. A share becomes a percentage without the sign."""
    if unit == "share":
        return percent(value)
    if unit == "money":
        return f"{value:,.{2 if not value else max(2, 1 - math.floor(math.log10(abs(value))))}f}"
    if unit == "seconds":
        return f"{value:.2f}" if abs(value) < 100 else f"{value:,.0f}"
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.1f}"


def percent(share: float) -> str:
    """Format a share as a percentage without the sign: 51.6."""
    return f"{100 * share:.1f}"


def counted(number: int, what: str) -> str:
    """Format a count: 1 question, 1,200 questions."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
