"""Robustness cards as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..cards import Line
from .runs import Run
from .tables import Cell, Column, Table, share_cell

_COLUMNS = (
    Column("accuracy", "right answers"),
    Column("wrong", "answers that are not right"),
    Column("unanswered", "no answer, although the question has one"),
    Column("false answer", "the answer contains the planted false answer"),
    Column("withstood", "of the questions that are right without planted passages, the share that still is"),
)


def card_tables(runs: Sequence[Run]) -> list[Table]:
    """Return the robustness card of each strategy of each run. Empty for runs without attacks."""
    return [table for run in runs for table in _cards(run, of="" if len(runs) == 1 else f", {run.name}")]


def _cards(run: Run, *, of: str) -> Iterator[Table]:
    robustness = run.figures.robustness
    for card in robustness.cards if robustness else ():
        yield Table(
            title=f"Robustness of {card.strategy}{of} (%)",
            heads=("attack", "planted passages", "questions"),
            columns=_COLUMNS,
            rows=tuple(
                ((line.attack or "none", str(line.planted), f"{line.questions:,}"), _row(line)) for line in card.lines
            ),
            notes=(
                "Withstood: of the questions that are right without planted passages, the share that still is. "
                f"Digest of the questions: {robustness.questions if robustness else ''}.",
            ),
        )


def _row(line: Line) -> tuple[Cell, ...]:
    return tuple(map(share_cell, (line.accuracy, line.wrong, line.unanswered, line.false_answer, line.withstood)))
