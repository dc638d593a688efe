"""Read the outcomes of a run from its folder, question by question."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from robust_qa import Answer, Checked, Citation, Outcome, Position, Step, Usage

from .folder import Folder, Lines
from .questions import passage_of


class _Line(msgspec.Struct):
    """The fields that are read from a line of answers."""

    row: int
    answer: str | None = None
    confidence: float | None = None
    citations: tuple[Citation, ...] = ()
    conflicts: tuple[Position, ...] = ()
    best_guess: Position | None = None
    checks: tuple[Checked, ...] = ()
    reason: str = ""
    usage: Usage = Usage()
    seconds: float = 0.0
    strategy: str = ""
    details: dict[str, Any] = {}
    trace: tuple[Step, ...] = ()
    error: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class QuestionOutcomes:
    """A question of the run: its number and fields, the outcomes by strategy, and the errors of failed strategies."""

    number: int
    row: Mapping[str, Any]
    outcomes: dict[str, Outcome]
    errors: dict[str, str]


def read_outcomes(
    folder: Folder, strategies: Mapping[str, Path], *, cost: Callable[[tuple[Step, ...]], float | None], **judge: Any
) -> Iterator[QuestionOutcomes]:
    """Yield the questions of the run in order. `judge` has more fields of Outcome.

    Raises InputError if a line is not an answer.
    """
    with ExitStack() as open_files:
        answers = {
            name: open_files.enter_context(Lines(path, numbered=True))
            for name, path in strategies.items()
            if path.exists()
        }
        questions = open_files.enter_context(folder.questions.open("rb"))
        for number, line in enumerate(questions, start=1):
            row: dict[str, Any] = msgspec.json.decode(line)
            found = {
                name: answer for name, lines in answers.items() if (answer := lines.get(number, _Line)) is not None
            }
            given = row.get("passages")
            passages = None if given is None else tuple(map(passage_of, given))
            spent = {_call(step): step.seconds for line in found.values() for step in line.trace if not step.cached}
            common = {
                "question": row["question"],
                "gold": tuple(map(tuple, row["gold"])),
                "unanswerable": row.get("unanswerable", False),
                "passages": passages,
                "fake_answer": row.get("fake_answer", ""),
                "planted": tuple(row.get("planted", ())),
                "row": row,
                **judge,
            }
            outcomes = {
                name: Outcome(
                    answer=_answer(answer, spent), failed=bool(answer.error), cost=cost(answer.trace), **common
                )
                for name, answer in found.items()
            }
            errors = {name: str(answer.error.get("message")) for name, answer in found.items() if answer.error}
            yield QuestionOutcomes(number, row, outcomes, errors)


def _call(step: Step) -> tuple[str, ...]:
    return step.component, step.kind, step.what, repr(step.data)


def _answer(line: _Line, spent: Mapping[tuple[str, ...], float]) -> Answer:
    """Return the answer, in which a cached call costs the seconds that it took when it was made (`spent`)."""
    trace = tuple(
        replace(step, cached=False, seconds=spent[_call(step)]) if step.cached and _call(step) in spent else step
        for step in line.trace
    )
    saved = sum(new.seconds - old.seconds for new, old in zip(trace, line.trace, strict=True))
    return Answer(
        line.answer,
        line.confidence,
        line.citations,
        line.conflicts,
        best_guess=line.best_guess,
        checks=line.checks,
        reason=line.reason,
        details=line.details,
        strategy=line.strategy,
        usage=line.usage,
        seconds=line.seconds + saved,
        trace=trace,
    )
