"""Find the bounds of a cascade from the answers that each step gave to the same questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import msgspec
import numpy as np

from robust_qa import InputError
from rqa_cascade import Points, calibrated

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]

FOLDS = 5
_KEPT = 0.95
_TRIALS = 4000  # combinations of bounds
_MOST = 50  # bounds that are tried for a step


@dataclass(frozen=True, slots=True)
class Record:
    """What the steps did, in arrays of shape (steps, questions).

    `confidence`: NaN for an abstention. `right`: how right, from 0 to 1. `cost`: of asking the step.
    """

    confidence: Array
    right: Array
    cost: Array

    def at(self, questions: NDArray[np.intp]) -> Record:
        """Return the record of some questions."""
        return Record(self.confidence[:, questions], self.right[:, questions], self.cost[:, questions])


@dataclass(frozen=True, slots=True)
class Target:
    """Either `budget`, the most that a question may cost in the mean, or a least accuracy.

    The accuracy is `accuracy`, or else the share _KEPT of that of the most accurate step.
    """

    accuracy: float | None = None
    budget: float | None = None


@dataclass(frozen=True, slots=True)
class Fitted:
    """The bounds and the calibration of a cascade."""

    bounds: list[float]
    points: list[list[list[float]]]


@dataclass(frozen=True, slots=True)
class Result:
    """What a cascade reaches: the accuracy, the cost of a question, and the share of the answers of each step."""

    accuracy: float
    cost: float
    shares: list[float]


def fit(record: Record, target: Target) -> Fitted:
    """Return the calibration of each step, and the bounds that meet the target best."""
    points = [_points(*pair) for pair in zip(record.confidence, record.right, strict=True)]
    sure = _calibrated(record, points)
    steps = len(points)
    most = min(_MOST, int(_TRIALS ** (1 / max(1, steps - 1))))
    candidates = [_candidates(row, most) for row in sure[:-1]]
    least = target.accuracy if target.accuracy is not None else _KEPT * float(record.right.mean(axis=1).max())

    def worth(bounds: Sequence[float]) -> tuple[bool, float, float]:
        found = _result(record, sure, bounds)
        if target.budget is not None:
            met = found.cost <= target.budget
            return (met, found.accuracy, -found.cost) if met else (met, -found.cost, found.accuracy)
        met = found.accuracy >= least
        return (met, -found.cost, found.accuracy) if met else (met, found.accuracy, -found.cost)

    bounds = max(map(list, product(*candidates)), key=worth)
    return Fitted(bounds, points)


def measure(record: Record, fitted: Fitted) -> Result:
    """Return what a cascade reaches on these questions."""
    return _result(record, _calibrated(record, fitted.points), fitted.bounds)


def cross_validate(record: Record, target: Target) -> Result:
    """Return what cascades reach that are fitted without the questions they are measured on."""
    order = np.random.default_rng(0).permutation(record.right.shape[1])
    results, sizes = [], []
    for held_out in np.array_split(order, FOLDS):
        fitted = fit(record.at(np.setdiff1d(order, held_out)), target)
        results.append(measure(record.at(held_out), fitted))
        sizes.append(held_out.size)
    weights = np.array(sizes) / sum(sizes)
    return Result(
        float(weights @ [one.accuracy for one in results]),
        float(weights @ [one.cost for one in results]),
        (weights @ np.array([one.shares for one in results])).tolist(),
    )


def fit_calibration(confidences: Sequence[float], right: Sequence[float]) -> list[list[float]]:
    """Return the points of the best rising curve: pool adjacent violators (Ayer and others 1955)."""
    sums: dict[float, tuple[float, int]] = {}  # equal confidences are one block from the beginning
    for x, y in zip(confidences, right, strict=True):
        total, count = sums.get(x, (0.0, 0))
        sums[x] = total + y, count + 1
    blocks: list[tuple[float, float, int]] = []  # sums of confidence and right, and their number
    for x in sorted(sums):
        total, count = sums[x]
        block = x * count, total, count
        while blocks and blocks[-1][1] * block[2] >= block[1] * blocks[-1][2]:
            last = blocks.pop()
            block = last[0] + block[0], last[1] + block[1], last[2] + block[2]
        blocks.append(block)
    return [[round(x / count, 4), round(y / count, 4)] for x, y, count in blocks]


def _points(confidence: Array, right: Array) -> list[list[float]]:
    answered = ~np.isnan(confidence)
    found = fit_calibration(confidence[answered].tolist(), right[answered].tolist())
    return found or [[0.0, 0.0]]  # a step that never answers


def _calibrated(record: Record, points: Sequence[Points]) -> Array:
    return np.array(
        [
            [np.nan if np.isnan(one) else calibrated(curve, one) for one in row]
            for curve, row in zip(points, record.confidence, strict=True)
        ]
    )


def _candidates(sure: Array, most: int) -> list[float]:
    """Return bounds for a step: between the values that it takes, so that rounding changes nothing."""
    values = np.unique(sure[~np.isnan(sure)])
    between = (values[1:] + values[:-1]) / 2
    if between.size > most:
        between = np.quantile(between, np.linspace(0, 1, most), method="nearest")
    return [0.0, *dict.fromkeys(round(float(value), 4) for value in between), 1.0]


def _result(record: Record, sure: Array, bounds: Sequence[float]) -> Result:
    steps, questions = record.right.shape
    stops = np.vstack([sure[:-1] >= np.array(bounds)[:, None], np.ones((1, questions), bool)])
    step = stops.argmax(axis=0)  # the first that stops
    every = np.arange(questions)
    return Result(
        float(record.right[step, every].mean()),
        float(record.cost.cumsum(axis=0)[step, every].mean()),
        (np.bincount(step, minlength=steps) / questions).tolist(),
    )


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
