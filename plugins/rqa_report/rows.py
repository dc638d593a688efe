"""The rows of a run, any of them at any time, without holding them: a run may be larger than memory."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import msgspec

from robust_qa import InputError

from .runs import Run

_T = TypeVar("_T")
_MEND = "`rqa eval` with --resume mends a run that was interrupted."


class Asked(msgspec.Struct, frozen=True):
    """A line of questions.jsonl. `gold` has facts, each with its alternatives; `planted` positions in `passages`."""

    class Passage(msgspec.Struct, frozen=True):
        """A passage that was given with the question."""

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
    fake_answer: str | None = None


class Scored(msgspec.Struct, frozen=True):
    """A line of scores.jsonl: slices by view, and metrics by strategy (one without an answer line is absent)."""

    slices: dict[str, list[str]] = {}
    scores: dict[str, dict[str, float | None]] = {}


class _Numbered(msgspec.Struct, frozen=True):
    row: int


@dataclass(frozen=True, slots=True)
class Row:
    """A question as it was asked, its scores, and the answer lines to it by strategy (absent where there is none)."""

    asked: Asked
    scored: Scored
    answers: Mapping[str, dict[str, Any]]


class Rows:
    """The rows of a run, by number from 1. InputError names a file that is missing, and the line that is damaged."""

    def __init__(self, run: Run) -> None:
        with ExitStack() as stack:
            self._questions = stack.enter_context(_Lines(run.folder / "questions.jsonl"))
            self._scores = stack.enter_context(_Lines(run.folder / "scores.jsonl"))
            paths = {strategy.name: run.answers_file(strategy.name) for strategy in run.plan.strategies}
            self._answers = {
                name: stack.enter_context(_Lines(path, numbered=True)) for name, path in paths.items() if path.exists()
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
        """The question alone."""
        return self._questions.get(number, Asked) or Asked("")


class _Lines:
    """The lines of a file by number: line n is row n, or, where they are `numbered`, what each says in `row`."""

    def __init__(self, path: Path, *, numbered: bool = False) -> None:
        self._path = path
        try:
            self._file = path.open("rb")
        except FileNotFoundError as error:
            raise InputError(f"{path.parent} has no {path.name}: the run is not whole.", hint=_MEND) from error
        self._begins = array("q", [-1])
        try:
            self._find(numbered)
        except BaseException:  # also when interrupted: nobody else would close it
            self._file.close()
            raise

    def _find(self, numbered: bool) -> None:
        begin = 0
        for count, line in enumerate(self._file, start=1):
            row = self._decode(line, _Numbered, f"line {count}").row if numbered else count
            if row >= len(self._begins):
                self._begins.extend([-1] * (row + 1 - len(self._begins)))
            self._begins[row] = begin
            begin += len(line)

    def __enter__(self) -> _Lines:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    def __len__(self) -> int:
        return len(self._begins) - 1

    def get(self, row: int, kind: type[_T]) -> _T | None:
        if row >= len(self._begins) or self._begins[row] < 0:
            return None
        self._file.seek(self._begins[row])
        return self._decode(self._file.readline(), kind, f"row {row}")

    def _decode(self, line: bytes, kind: type[_T], where: str) -> _T:
        try:
            return msgspec.json.decode(line, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InputError(f"{self._path}, {where}: {error}", hint=_MEND) from error
