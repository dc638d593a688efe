"""The report on how members disagree: ratios, where failures come from, and what a perfect voter could do."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from .inconsistency import (
    Decomposition,
    Matrix,
    Ratio,
    decompose,
    error_ratios,
    mean_relative_lose_ratio,
    mean_relative_win_ratio,
    relative_win_ratio,
)
from .members import Members, Selection
from .tables import Cell, Column, Table, counted, percent, share_cell
from .voter_bound import Bound, perfect_voter

ERRORS = {
    "retriever_error": "retriever errors",
    "hallucination_error": "hallucination errors",
    "extraction_error": "extraction errors",
    "lucky_guess": "lucky guesses",
}
_PARTS = {
    "failures": "questions not answered right",
    "retriever_error": "no passage has a gold answer",
    "lucky_guess": "right although no passage has a gold answer",
    "hallucination": "wrong, and in no passage, though a gold answer is",
    "extraction": "wrong, from passages that have a gold answer",
    "unanswered": "no answer, though a passage has a gold one",
}


@dataclass(frozen=True)
class Disagreement:
    """Everything that Eq. 1 to 5 say of members, and the bound of a perfect voter."""

    run: str
    metric: str
    chosen: Selection
    members: Members

    @cached_property
    def rwr(self) -> Matrix:
        """Eq. 1, over all questions."""
        everything = (1 << self.members.asked) - 1
        return relative_win_ratio([everything & ~correct for correct in self.members.correct])

    @cached_property
    def decompositions(self) -> list[Decomposition]:
        """Eq. 4 for each member, over the questions that it can be told of."""
        return [decompose(outcomes) for outcomes in self.members.outcomes]

    @cached_property
    def errors(self) -> dict[str, Matrix]:
        """Eq. 5, over the same."""
        return error_ratios(self.members.outcomes)

    @cached_property
    def bounds(self) -> list[Bound]:
        """What a perfect voter answers, by the size of its pool."""
        return perfect_voter(self.members.correct, self.members.asked)

    def tables(self) -> list[Table]:
        """The tables, in the order to read them in."""
        parts = [
            self._summary(),
            self._matrix("RWR (%): questions that the column has wrong and the row right", self.rwr),
        ]
        if self.members.outcomes:
            parts.append(self._decomposed())
            parts += [
                self._matrix(f"RWR (%) of {ERRORS[name]}: those of the column that the row does not make", matrix)
                for name, matrix in self.errors.items()
            ]
        return [*parts, self._bounded()]

    def as_json(self) -> str:
        """All of it as one JSON object, lists in the order of the members, matrices by rows, shares from 0 to 1.

        null stands where there is nothing to take a share of.
        """
        names, asked = self.members.names, self.members.asked
        errors: dict[str, Any] | None = None
        if self.members.outcomes:
            errors = {
                "questions": self.decompositions[0].asked,
                "decomposition": [asdict(told) for told in self.decompositions],
                "rwr": self.errors,
            }
        built = {
            "run": self.run,
            "pool": self.chosen.pool,
            "set": self.chosen.set,
            "condition": self.chosen.condition,
            "metric": self.metric,
            "right_from": self.chosen.least,
            "questions": asked,
            "unused": self.members.unused,
            "members": names,
            "accuracy": self._accuracies(),
            "rwr": self.rwr,
            "mrwr": mean_relative_win_ratio(self.rwr),
            "mrlr": mean_relative_lose_ratio(self.rwr),
            "errors": errors,
            "passed_over": self.members.passed_over,
            "perfect_voter": [
                {**asdict(bound), "best_pool": [names[n] for n in bound.best_pool]} for bound in self.bounds
            ],
        }
        return json.dumps(built, indent=2, allow_nan=False) + "\n"

    def _accuracies(self) -> list[float]:
        return [correct.bit_count() / self.members.asked for correct in self.members.correct]

    def _rows(self, cells: Sequence[Sequence[Cell]]) -> tuple[tuple[tuple[str, ...], tuple[Cell, ...]], ...]:
        numbered = enumerate(zip(self.members.names, cells, strict=True), start=1)
        return tuple(((str(n), name), tuple(row)) for n, (name, row) in numbered)

    def _summary(self) -> Table:
        shares: list[Sequence[Ratio]] = [
            self._accuracies(),
            mean_relative_win_ratio(self.rwr),
            mean_relative_lose_ratio(self.rwr),
        ]
        return Table(
            title="Members (%)",
            heads=("#", "member"),
            columns=(
                Column("right"),
                Column("MRWR", "mean share of what another member has wrong that this one has right"),
                Column("MRLR", "mean share of what this one has wrong that another member has right"),
            ),
            rows=self._rows([[share_cell(share) for share in row] for row in zip(*shares, strict=True)]),
            shaded=True,
            notes=tuple(self._notes()),
        )

    def _notes(self) -> Iterator[str]:
        chosen = self.chosen
        of = "".join(f", {part}" for part in (chosen.set, chosen.condition) if part)
        right = "a gold answer is contained" if chosen.pool else f"{self.metric} is at least {chosen.least:g}"
        yield f"{counted(self.members.asked, 'question')}{of}; right: {right}."
        for why, count in self.members.unused.items():
            yield f"Not counted: questions {why} ({count:,})."
        yield "MRWR: of what another member has wrong, the share that it has right, on the mean over the others."
        yield "MRLR: of what it has wrong, the share that another member has right, on the mean over the others."
        if not self.members.outcomes:
            yield "Where failures come from (Eq. 4) cannot be told."
        for why, count in self.members.passed_over.items():
            yield f"Not taken apart by Eq. 4: questions {why} ({count:,})."

    def _matrix(self, title: str, matrix: Matrix) -> Table:
        cells = [
            [Cell("·") if i == j else share_cell(ratio) for j, ratio in enumerate(row)] for i, row in enumerate(matrix)
        ]
        columns = tuple(Column(str(n), name) for n, name in enumerate(self.members.names, start=1))
        return Table(title, ("#", "member"), columns, self._rows(cells), shaded=True)

    def _decomposed(self) -> Table:
        rows = []
        for told in self.decompositions:
            counts = asdict(told)
            rows.append([Cell(percent(counts[part] / told.asked), level=counts[part] / told.asked) for part in _PARTS])
        return Table(
            title=f"Where failures come from (% of {counted(self.decompositions[0].asked, 'question')})",
            heads=("#", "member"),
            columns=tuple(Column(name.replace("_", " "), what) for name, what in _PARTS.items()),
            rows=self._rows(rows),
            shaded=True,
            notes=("Failures = retriever error - lucky guess + hallucination + extraction + unanswered.",),
        )

    def _bounded(self) -> Table:
        return Table(
            title="Upper bound: right in % of questions, by a voter who always picks a right answer where there is one",
            heads=("pool", "best pool"),
            columns=(Column("mean", "over all pools of the size"), Column("worst"), Column("best")),
            rows=tuple(
                (
                    (str(bound.size), ", ".join(str(n + 1) for n in bound.best_pool)),
                    tuple(map(share_cell, (bound.mean, bound.worst, bound.best))),
                )
                for bound in self.bounds
            ),
            shaded=True,
            notes=()
            if all(bound.exact for bound in self.bounds)
            else ("Worst and best are those of a sample of pools; mean is exact.",),
        )
