"""The report of `rqa inconsistency`: ratios, sources of failures and the perfect voter."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from rqa_eval.report.overview import explained
from rqa_eval.report.tables import Cell, Column, Table, counted, share_cell

from ..page.html import page, section, table
from .members import Members, Selection
from .ratios import (
    Decomposition,
    Matrix,
    Ratio,
    decompose,
    error_ratios,
    mean_relative_lose_ratio,
    mean_relative_win_ratio,
    relative_win_ratio,
)
from .voter_bound import Bound, perfect_voter

ERRORS = {
    "retriever_error": "retriever errors",
    "hallucination_error": "hallucination errors",
    "extraction_error": "extraction errors",
    "lucky_guess": "lucky guesses",
}
_PARTS = {
    "failures": "questions without a right answer",
    "retriever_error": "no passage has a gold answer",
    "lucky_guess": "right although no passage has a gold answer",
    "hallucination": "a passage has a gold answer, but none has the wrong answer given",
    "extraction": "the passages have both a gold answer and the wrong answer given",
    "unanswered": "no answer although a passage has a gold answer",
}


@dataclass(frozen=True)
class Disagreement:
    """The results of Eq. 1 to 5 and the bounds of a perfect voter."""

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
        """Eq. 4 for each member, over the questions that it can use."""
        return [decompose(outcomes) for outcomes in self.members.outcomes]

    @cached_property
    def errors(self) -> dict[str, Matrix]:
        """Eq. 5, over the same questions."""
        return error_ratios(self.members.outcomes)

    @cached_property
    def bounds(self) -> list[Bound]:
        """The accuracy of a perfect voter by pool size."""
        return perfect_voter(self.members.correct[: self.members.pool], self.members.asked)

    @cached_property
    def mrwr(self) -> tuple[Ratio, ...]:
        """Eq. 2, over the pool."""
        return mean_relative_win_ratio(self.rwr, self.members.pool)

    @cached_property
    def mrlr(self) -> tuple[Ratio, ...]:
        """Eq. 3, over the pool."""
        return mean_relative_lose_ratio(self.rwr, self.members.pool)

    def tables(self) -> list[Table]:
        """Return the tables in reading order."""
        parts = [
            self._summary(),
            self._matrix("RWR (%): share of the column's wrong answers that the row has right", self.rwr),
        ]
        if self.members.outcomes:
            parts.append(self._decomposed())
            parts += [
                self._matrix(
                    f"RWR (%) of {ERRORS[name]}: share of the column's errors that the row does not make", matrix
                )
                for name, matrix in self.errors.items()
            ]
        return [*parts, self._bounded()]

    def as_json(self) -> str:
        """Return the report as JSON: lists in the order of the members, shares from 0 to 1, null if undefined."""
        names, asked = self.members.names, self.members.asked
        errors: dict[str, Any] | None = None
        if self.members.outcomes:
            errors = {
                "questions": self.decompositions[0].asked,
                "decomposition": [asdict(one) for one in self.decompositions],
                "rwr": self.errors,
            }
        built = {
            "run": self.run,
            "pool": self.chosen.pool,
            "condition": self.chosen.condition,
            "metric": self.metric,
            "questions": asked,
            "unused": self.members.unused,
            "members": names,
            "accuracy": self._accuracies(),
            "rwr": self.rwr,
            "mrwr": self.mrwr,
            "mrlr": self.mrlr,
            "errors": errors,
            "passed_over": self.members.excluded,
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
        shares: list[Sequence[Ratio]] = [self._accuracies(), self.mrwr, self.mrlr]
        return Table(
            title="Members (%)",
            heads=("#", "member"),
            columns=(
                Column("right"),
                Column("MRWR", "mean share of the wrong answers of another member that this member has right"),
                Column("MRLR", "mean share of the wrong answers of this member that another member has right"),
            ),
            rows=self._rows([[share_cell(share) for share in row] for row in zip(*shares, strict=True)]),
            shaded=True,
            notes=tuple(self._notes()),
        )

    def _notes(self) -> Iterator[str]:
        chosen = self.chosen
        of = f", {explained(chosen.condition)}" if chosen.condition else ""
        yield f"{counted(self.members.asked, 'question')}{of}. An answer is right if its {self.metric} is 1."
        for why, count in self.members.unused.items():
            yield f"Not used: questions {why} ({count:,})."
        yield (
            "MRWR, the mean relative win ratio: of the wrong answers of another member, the share that this member has "
            "right, averaged over the others. Higher is better."
        )
        yield (
            "MRLR, the mean relative lose ratio: of the wrong answers of this member, the share that another member "
            "has right, averaged over the others. Lower is better."
        )
        if chosen.pool:
            yield f"{chosen.pool} is the vote of the others. It is compared with them, but not they with it."
        if not self.members.outcomes:
            yield "The sources of failures (Eq. 4) are unknown."
        for why, count in self.members.excluded.items():
            yield f"Not used in Eq. 4: questions {why} ({count:,})."

    def _matrix(self, title: str, matrix: Matrix) -> Table:
        cells = [
            [Cell("·") if i == j else share_cell(ratio) for j, ratio in enumerate(row)] for i, row in enumerate(matrix)
        ]
        columns = tuple(Column(str(n), name) for n, name in enumerate(self.members.names, start=1))
        return Table(title, ("#", "member"), columns, self._rows(cells), shaded=True)

    def _decomposed(self) -> Table:
        rows = []
        for one in self.decompositions:
            counts = asdict(one)
            rows.append([share_cell(counts[part] / one.asked) for part in _PARTS])
        return Table(
            title=f"Sources of failures (% of {counted(self.decompositions[0].asked, 'question')})",
            heads=("#", "member"),
            columns=tuple(Column(name.replace("_", " "), what) for name, what in _PARTS.items()),
            rows=self._rows(rows),
            shaded=True,
            notes=("Failures = retriever error - lucky guess + hallucination + extraction + unanswered.",),
        )

    def _bounded(self) -> Table:
        return Table(
            title="Accuracy (%) of a perfect voter, which picks a right answer whenever a member has one",
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
            else ("Worst and best are estimated from a sample of pools. The mean is exact.",),
        )


def disagreement_page(found: Disagreement) -> Iterator[str]:
    """Yield the parts of an HTML page with the tables as heat maps."""
    about = f"Questions: {found.members.asked:,} · members: {len(found.members.names)}"
    yield from page(f"rqa inconsistency: {found.run}", about, _body(found), [])


def _body(found: Disagreement) -> Iterator[str]:
    for number, part in enumerate(found.tables(), start=1):
        yield section(f"table{number}", part.title, table(part, caption=False))
