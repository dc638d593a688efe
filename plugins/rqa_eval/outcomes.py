"""The outcomes of a run, read back from its folder: question by question, what each strategy answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from robust_qa import Answer, Citation, InputError, Outcome, Step, Usage

from .asking import passage_of
from .folder import Folder


class _Line(msgspec.Struct):
    """What is read of a line of answers."""

    row: int
    answer: str | None = None
    confidence: float | None = None
    citations: tuple[Citation, ...] = ()
    reason: str = ""
    usage: Usage = Usage()
    seconds: float = 0.0
    strategy: str = ""
    details: dict[str, Any] = {}
    trace: tuple[Step, ...] = ()
    error: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of the run: its row number and fields, and the outcome of each strategy that has a line on it.

    `errors` are those of the strategies that failed.
    """

    number: int
    row: Mapping[str, Any]
    outcomes: dict[str, Outcome]
    errors: dict[str, str]


def read_outcomes(
    folder: Folder, strategies: Mapping[str, Path], *, cost: Callable[[Usage], float | None], **judging: Any
) -> Iterator[Asked]:
    """Every question of the run in order; `judging` are the fields of Outcome for that. InputError names a file that is
    not of a run.
    """
    with ExitStack() as open_files:
        answers = {
            name: _in_step(open_files.enter_context(path.open("rb")), path)
            for name, path in strategies.items()
            if path.exists()
        }
        questions = open_files.enter_context(folder.questions.open("rb"))
        for number, line in enumerate(questions, start=1):
            row: dict[str, Any] = msgspec.json.decode(line)
            found = {name: answer for name, at in answers.items() if (answer := at(number)) is not None}
            brought = row.get("passages")
            passages = None if brought is None else tuple(map(passage_of, brought))
            common = {
                "question": row["question"],
                "gold": tuple(map(tuple, row["gold"])),
                "passages": passages,
                "fake_answer": row.get("fake_answer", ""),
                "planted": tuple(row.get("planted", ())),
                "row": row,
                **judging,
            }
            outcomes = {
                name: Outcome(answer=_answer(answer), failed=bool(answer.error), cost=cost(answer.usage), **common)
                for name, answer in found.items()
            }
            errors = {name: str(answer.error.get("message")) for name, answer in found.items() if answer.error}
            yield Asked(number, row, outcomes, errors)


def _in_step(lines: Iterator[bytes], path: Path) -> Callable[[int], _Line | None]:
    """Gives the line of a row, asked for in rising order; the file is sorted, and may lack rows."""
    waiting: list[_Line] = []

    def at(number: int) -> _Line | None:
        while not waiting or waiting[0].row < number:
            waiting.clear()
            line = next(lines, None)
            if line is None:
                return None
            try:
                waiting.append(_decode(line))
            except msgspec.DecodeError as error:
                raise InputError(f"{path} holds a line that is none of a run: {error}.") from error
        return waiting[0] if waiting[0].row == number else None

    return at


_decode = msgspec.json.Decoder(_Line).decode


def _answer(line: _Line) -> Answer:
    return Answer(
        line.answer,
        line.confidence,
        line.citations,
        reason=line.reason,
        details=line.details,
        strategy=line.strategy,
        usage=line.usage,
        seconds=line.seconds,
        trace=line.trace,
    )
