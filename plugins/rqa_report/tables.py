"""Tables as data: what a terminal, Markdown and a page each lay out in their way."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from .runs import Estimate

NOTHING = "–"
ABOVE, BELOW = "▲", "▼"  # a baseline, significantly


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure in words; `low` to `high` of its interval, `mark` of its significance.

    `level` from 0 to 1 says how much there is, for shades; `best` that none in its column is better.
    """

    text: str
    interval: str = ""
    mark: str = ""
    level: float | None = None
    best: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """A column of figures, and in a sentence what they are."""

    name: str
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of figures under `columns`, each named by `keys` (as many as there are `heads`). `shaded`: a heat map."""

    title: str
    heads: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[tuple[tuple[str, ...], tuple[Cell, ...]], ...]
    shaded: bool = False
    notes: tuple[str, ...] = field(default=())


def share_cell(share: float | None) -> Cell:
    """A share of 0 to 1 as a shaded percentage."""
    return Cell(NOTHING) if share is None else Cell(percent(share), level=share)


def estimate_cell(estimate: Estimate | None, unit: str, *, best: bool = False) -> Cell:
    """An estimate in the unit of its metric."""
    if estimate is None or estimate.value is None:
        return Cell(NOTHING)
    interval = mark = ""
    if estimate.low is not None and estimate.high is not None and estimate.low < estimate.high:
        interval = f"{figure(estimate.low, unit)}–{figure(estimate.high, unit)}"
    difference = estimate.difference
    if difference is not None and difference.significant and difference.value:
        mark = ABOVE if difference.value > 0 else BELOW
    level = min(max(estimate.value, 0.0), 1.0) if unit == "share" else None
    return Cell(figure(estimate.value, unit), interval, mark, level, best)


def figure(value: float, unit: str) -> str:
    """A figure for people; a share is in per cent, without the sign."""
    if unit == "share":
        return percent(value)
    if unit == "money":
        return f"{value:,.{2 if not value else max(2, 1 - math.floor(math.log10(abs(value))))}f}"
    if unit == "seconds":
        return f"{value:.2f}" if abs(value) < 100 else f"{value:,.0f}"
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.1f}"


def percent(share: float) -> str:
    """51.6, without the sign."""
    return f"{100 * share:.1f}"


def counted(number: int, what: str) -> str:
    """1 question, 1,200 questions."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
