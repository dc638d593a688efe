"""Read what the steps did from the folder of an `rqa eval` run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np

from robust_qa import InputError

from .fitting import Record

_T = TypeVar("_T")
_HINT = "Name a folder that `rqa eval` wrote, with each step as a strategy: `-s rag:lexical,rag:embedded`."


class _File(msgspec.Struct):
    name: str
    file: str


class _Run(msgspec.Struct):
    strategies: list[_File]


class _Answer(msgspec.Struct):
    row: int
    answer: str | None = None
    confidence: float | None = None


class _Scores(msgspec.Struct):
    row: int
    scores: dict[str, dict[str, float | None]]


def strategies(folder: Path) -> list[str]:
    """Return the strategies of a run. Raises InputError if it is no run."""
    return [one.name for one in _run(folder).strategies]


def record(folder: Path, steps: Sequence[str], costs: Sequence[float] | None, metric: str) -> tuple[Record, str]:
    """Return what the steps did, over the questions that all were scored on, and the unit of the costs.

    `metric` says how right an answer is, from 0 to 1. `costs` are those of each step, by default measured: money, or
    calls without prices. Raises InputError.
    """
    files = {one.name: one.file for one in _run(folder).strategies}
    if missing := [step for step in steps if step not in files]:
        raise InputError(f"{folder} has no strategy {missing[0]!r}. It has: {', '.join(files)}.", hint=_HINT)
    scores = [
        one for one in _lines(folder / "scores.jsonl", _Scores) if all(_scored(one, step, metric) for step in steps)
    ]
    if not scores:
        raise InputError(f"{folder} has no question with the metric {metric!r} for each step.", hint=_HINT)
    unit = "given costs" if costs else next((name for name in ("cost", "calls") if _known(scores, steps, name)), "")
    if not unit:
        raise InputError(f"The steps in {folder} cost nothing.", hint="Say what each costs a question: --costs 1,20.")
    confidence, right, cost = [], [], []
    for number, step in enumerate(steps):
        answers = {one.row: one for one in _lines(folder / files[step], _Answer)}
        confidence.append([_confidence(answers.get(one.row)) for one in scores])
        right.append([one.scores[step][metric] for one in scores])
        cost.append([costs[number] if costs else one.scores[step][unit] for one in scores])
    return Record(*(np.array(rows, dtype=np.float64) for rows in (confidence, right, cost))), unit


def _scored(line: _Scores, step: str, metric: str) -> bool:
    return line.scores.get(step, {}).get(metric) is not None


def _known(scores: Sequence[_Scores], steps: Sequence[str], name: str) -> bool:
    """Return whether each step has these costs for each question, and one of them costs something."""
    costs = [one.scores[step].get(name) for one in scores for step in steps]
    return None not in costs and any(costs)


def _confidence(answer: _Answer | None) -> float:
    if answer is None or answer.answer is None:
        return np.nan
    return 1.0 if answer.confidence is None else answer.confidence


def _run(folder: Path) -> _Run:
    try:
        return msgspec.json.decode((folder / "run.json").read_bytes(), type=_Run)
    except (OSError, msgspec.DecodeError) as error:
        raise InputError(f"{folder} is not a run of `rqa eval`: {error}.", hint=_HINT) from error


def _lines(path: Path, kind: type[_T]) -> Iterator[_T]:
    decoder: Any = msgspec.json.Decoder(kind)
    try:
        with path.open("rb") as file:
            yield from map(decoder.decode, file)
    except (OSError, msgspec.DecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}.", hint=_HINT) from error
