"""Read run.json and metrics.json of an evaluation run. rows.py reads its questions and answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from robust_qa import InputError

from ..estimates import Estimate, StrategyResult
from ..folder import FORMAT

_T = TypeVar("_T")


class _Version(msgspec.Struct):
    format: int


class Metric(msgspec.Struct, frozen=True):
    """A metric. `unit` is "share" (0 to 1), "count", "seconds" or "money"; `better` is "higher", "lower" or ""."""

    name: str
    summary: str = ""
    unit: str = ""
    better: str = ""


class Group(msgspec.Struct, frozen=True):
    """The estimates by strategy and metric for a set (None: all), a condition and optionally a slice of a view."""

    rows: int
    strategies: dict[str, dict[str, Estimate]]
    set: str | None = None
    condition: str | None = None
    view: str | None = None
    slice: str | None = None


class Figures(msgspec.Struct, frozen=True):
    """The content of metrics.json. `metric` is the main metric; `views` maps a view to the strategies it depends on.

    `over`: what the metrics read, "answer" or "reply". `chosen`: the metrics that were asked for. `passages`: their
    quality. `spread`: of the main metric over the repetitions, by strategy.
    """

    format: int
    metric: str
    metrics: list[Metric]
    strategies: list[StrategyResult]
    groups: list[Group]
    baseline: str | None = None
    views: dict[str, list[str]] = {}
    over: str = "answer"
    chosen: list[str] = []
    passages: dict[str, float] | None = None
    spread: dict[str, dict[str, float]] = {}


class Answers(msgspec.Struct, frozen=True):
    """A strategy and the file of its answers, relative to the folder."""

    name: str
    file: str


class QuestionSet(msgspec.Struct, frozen=True):
    """A set of questions: `rows` in its file, of which `sampled` were asked (None: all)."""

    name: str
    sha256: str = ""
    rows: int = 0
    sampled: int | None = None


class Plan(msgspec.Struct, frozen=True):
    """The content of run.json. `answering` names the reader and the evaluator."""

    format: int
    strategies: list[Answers]
    sets: list[QuestionSet] = []
    conditions: list[str] = []
    seed: int = 0
    began: str = ""
    answering: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run. `name` is unique in a report."""

    name: str
    folder: Path
    plan: Plan
    figures: Figures

    @classmethod
    def load(cls, folder: Path) -> Run:
        """Read a run. Raises InputError if it is not a run, not finished, or of an unknown format."""
        if not folder.is_dir():
            raise InputError(f"There is no folder {folder}.", hint="Name a folder that `rqa eval` wrote.")
        plan = _read(folder / "run.json", Plan, "it is not a run", "Name a folder that `rqa eval` wrote.")
        figures = _read(
            folder / "metrics.json", Figures, "the run is not finished", "Finish it with `rqa eval ... --resume`."
        )
        return cls(folder.resolve().name, folder, plan, figures)

    @property
    def results(self) -> dict[str, StrategyResult]:
        """The results of the strategies by name."""
        return {result.name: result for result in self.figures.strategies}

    @property
    def answered(self) -> list[str]:
        """The strategies that have answers."""
        names = [strategy.name for strategy in self.plan.strategies]
        return [name for name in names if (result := self.results.get(name)) and result.state != "left out"]

    @property
    def correctness(self) -> str:
        """The metric that decides whether an answer is right: accuracy if measured."""
        measured = [metric.name for metric in self.figures.metrics]
        return "accuracy" if "accuracy" in measured else self.figures.metric

    @property
    def asks(self) -> tuple[QuestionSet | int, ...]:
        """The sets and the seed. Runs with equal values asked the same questions."""
        return (*self.plan.sets, self.plan.seed)

    @property
    def incomplete(self) -> frozenset[str]:
        """The strategies with answers to only some of the questions. They are not compared with others."""
        return frozenset(result.name for result in self.figures.strategies if result.coverage)

    def label(self, strategy: str) -> str:
        """Return the name of a strategy for tables."""
        result = self.results.get(strategy)
        return strategy + result.coverage if result else strategy

    def answers_file(self, strategy: str) -> Path:
        """Return the path of a strategy's answers. Raises InputError if it is outside the folder."""
        file = next(answers.file for answers in self.plan.strategies if answers.name == strategy)
        path = self.folder / file
        if not path.resolve().is_relative_to(self.folder.resolve()):
            raise InputError(f"{self.folder / 'run.json'} refers to a file outside its folder: {file}.")
        return path


def load_runs(folders: Sequence[Path]) -> list[Run]:
    """Load runs. Each has the name of its folder, with a number if two are the same."""
    runs: list[Run] = []
    for folder in folders:
        run = Run.load(folder)
        taken = {other.name for other in runs}
        name, number = run.name, 2
        while name in taken:
            name, number = f"{run.name} ({number})", number + 1
        runs.append(Run(name, run.folder, run.plan, run.figures))
    return runs


def _read(path: Path, kind: type[_T], absent: str, hint: str) -> _T:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path.parent} has no {path.name}: {absent}.", hint=hint) from None
    try:
        version = msgspec.json.decode(data, type=_Version).format
        if version != FORMAT:
            raise InputError(
                f"{path} has format {version}, but this rqa reads format {FORMAT}.",
                hint="Use the version of rqa that wrote it.",
            )
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}", hint=hint) from error
