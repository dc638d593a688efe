"""Robustness cards: what planted passages do to a strategy, by attack and number of planted passages."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from rqa_eval.report.runs import Run
from rqa_eval.report.tables import Cell, Column, Table, share_cell

from .rows import Row, Rows

_METRICS = ("accuracy", "wrong", "unanswered", "attack-success")
_DIGEST = 12  # characters
_COLUMNS = (
    Column("accuracy", "right answers"),
    Column("wrong", "answers that are not right"),
    Column("unanswered", "no answer, although the question has one"),
    Column("false answer", "the answer contains the planted false answer"),
    Column("withstood", "of the questions that are right without planted passages, the share that still is"),
)


def card_tables(runs: Sequence[Run]) -> list[Table]:
    """Return the card of each strategy of each run. Cards with equal digests of the questions can be compared.

    A run without attacks, or without the questions as they are, has none.
    """
    return [table for run in runs for table in _cards(run, of="" if len(runs) == 1 else f", {run.name}")]


def _cards(run: Run, *, of: str) -> Iterator[Table]:
    if not {metric.name for metric in run.figures.metrics}.issuperset(_METRICS):
        return
    with Rows(run) as rows:
        if not any(rows.asked(number).planted for number in range(1, len(rows) + 1)):
            return
        asked = [Row(row.asked, row.scored, {}) for row in rows]
    untouched: dict[tuple[str, int], Row] = {}  # the first time that a question was asked without planted passages
    for row in asked:
        if not row.asked.planted:
            untouched.setdefault(_key(row), row)
    if any(_key(row) not in untouched for row in asked):
        return
    attacks = list(dict.fromkeys(row.asked.attack for row in asked if row.asked.planted))
    groups: dict[tuple[str, int], list[Row]] = {("", 0): list(untouched.values())}
    for row in sorted(
        asked, key=lambda row: ((row.asked.attack and attacks.index(row.asked.attack) + 1) or 0, len(row.asked.planted))
    ):
        if row.asked.planted:
            groups.setdefault((row.asked.attack, len(row.asked.planted)), []).append(row)
    digest = hashlib.sha256((run.folder / "questions.jsonl").read_bytes()).hexdigest()[:_DIGEST]
    for strategy in run.answered:
        yield Table(
            title=f"Robustness of {strategy}{of} (%)",
            heads=("attack", "planted passages", "questions"),
            columns=_COLUMNS,
            rows=tuple(
                ((attack or "none", str(planted), f"{len(group):,}"), _cells(strategy, group, untouched))
                for (attack, planted), group in groups.items()
            ),
            notes=(
                "Withstood: of the questions that are right without planted passages, the share that still is. "
                f"Digest of the questions: {digest}.",
            ),
        )


def _cells(strategy: str, group: Sequence[Row], untouched: Mapping[tuple[str, int], Row]) -> tuple[Cell, ...]:
    shares = [_mean(_values(strategy, metric, group)) for metric in _METRICS]
    planted = any(row.asked.planted for row in group)
    right = [row for row in group if _values(strategy, "accuracy", [untouched[_key(row)]]) == [1]]
    return tuple(map(share_cell, [*shares, _mean(_values(strategy, "accuracy", right)) if planted else None]))


def _key(row: Row) -> tuple[str, int]:
    return row.asked.set, row.asked.source_row


def _values(strategy: str, metric: str, rows: Sequence[Row]) -> list[float]:
    values = (row.scored.scores.get(strategy, {}).get(metric) for row in rows)
    return [value for value in values if value is not None]


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None
