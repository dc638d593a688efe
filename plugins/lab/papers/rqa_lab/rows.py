"""Random access to the rows of a run without loading them into memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import msgspec

from rqa_eval.folder import Lines
from rqa_eval.report.runs import Run


class Asked(msgspec.Struct, frozen=True):
    """A line of questions.jsonl. `gold` lists facts with alternatives; `planted` lists positions in `passages`."""

    class Passage(msgspec.Struct, frozen=True):
        """A passage of the question."""

        text: str
        title: str = ""
        id: str = ""
        source: str = ""

    question: str
    id: str = ""
    set: str = ""
    condition: str = ""
    gold: list[list[str]] = []
    passages: list[Passage] | None = None
    planted: list[int] = []
    attack: str = ""
    source_row: int = 0
    fake_answer: str | None = None


class Scored(msgspec.Struct, frozen=True):
    """A line of scores.jsonl: the slices by view, and the metrics by strategy."""

    slices: dict[str, list[str]] = {}
    scores: dict[str, dict[str, float | None]] = {}


@dataclass(frozen=True, slots=True)
class Row:
    """A question, its scores, and the lines of the strategies that answered it."""

    asked: Asked
    scored: Scored
    answers: Mapping[str, dict[str, Any]]


class Rows:
    """The rows of a run by number, from 1. Raises InputError for a missing file or a damaged line."""

    def __init__(self, run: Run) -> None:
        with ExitStack() as stack:
            self._questions = stack.enter_context(Lines(run.folder / "questions.jsonl"))
            self._scores = stack.enter_context(Lines(run.folder / "scores.jsonl"))
            paths = {strategy.name: run.answers_file(strategy.name) for strategy in run.plan.strategies}
            self._answers = {
                name: stack.enter_context(Lines(path, numbered=True)) for name, path in paths.items() if path.exists()
            }
            self._open = stack.pop_all()

    def __enter__(self) -> Rows:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._open.close()

    def __len__(self) -> int:
        return len(self._questions)

    def __iter__(self) -> Iterator[Row]:
        return (self[number] for number in range(1, len(self) + 1))

    def __getitem__(self, number: int) -> Row:
        answers = {name: lines.get(number, dict[str, Any]) for name, lines in self._answers.items()}
        return Row(
            self.asked(number),
            self._scores.get(number, Scored) or Scored(),
            {name: line for name, line in answers.items() if line is not None},
        )

    def asked(self, number: int) -> Asked:
        """Return the question of a row."""
        return self._questions.get(number, Asked) or Asked("")
