"""The folder of an evaluation run: what was run, and the figures that came out. Its rows are in rows.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from robust_qa import InputError

_FORMAT = 1
_T = TypeVar("_T")


class Difference(msgspec.Struct, frozen=True):
    """How far a strategy is from the baseline, row by row: the mean difference, and its 95 % interval."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    significant: bool = False


class Estimate(msgspec.Struct, frozen=True):
    """The mean of a metric over the `rows` where it is defined, and its 95 % interval."""

    value: float | None = None
    rows: int = 0
    low: float | None = None
    high: float | None = None
    difference: Difference | None = None


class Metric(msgspec.Struct, frozen=True):
    """A metric. `unit`: "share" (0 to 1), "count", "seconds" or "money"; `better`: "higher", "lower" or neither."""

    name: str
    summary: str = ""
    unit: str = ""
    better: str = ""


class Fate(msgspec.Struct, frozen=True):
    """What became of a strategy; `state` is "done", "failed" (on every row) or "left out" (it could not begin).

    It has answers to `rows` of the `questions` of the run.
    """

    name: str
    state: str = "done"
    rows: int = 0
    questions: int = 0
    failed: int = 0
    message: str = ""

    @property
    def asked(self) -> str:
        """How many questions it was asked, if not all: " (106 of 400)"."""
        return f" ({self.rows:,} of {self.questions:,})" if self.rows < self.questions else ""


class Group(msgspec.Struct, frozen=True):
    """The figures of some of the rows: of one set (None: of all), under a condition, in a slice of a view.

    `strategies` has the estimates by strategy and metric.
    """

    rows: int
    strategies: dict[str, dict[str, Estimate]]
    set: str | None = None
    condition: str | None = None
    view: str | None = None
    slice: str | None = None


class Figures(msgspec.Struct, frozen=True):
    """metrics.json. `metric` is the one to compare by; `baseline` the strategy that others are compared with.

    `views` has for each view the strategies on whose answers it depends which questions are in a slice.
    """

    format: int
    metric: str
    metrics: list[Metric]
    strategies: list[Fate]
    groups: list[Group]
    baseline: str | None = None
    views: dict[str, list[str]] = {}


class Answers(msgspec.Struct, frozen=True):
    """A strategy, and the file of its answers in the folder of the run."""

    name: str
    file: str


class QuestionSet(msgspec.Struct, frozen=True):
    """A set of questions; `rows` in its file, of which `sampled` were asked (None: all)."""

    name: str
    sha256: str = ""
    rows: int = 0
    sampled: int | None = None


class Plan(msgspec.Struct, frozen=True):
    """run.json: what was run, the strategies in the order of tables; `answering` names the reader and the evaluator."""

    format: int
    strategies: list[Answers]
    sets: list[QuestionSet] = []
    conditions: list[str] = []
    seed: int = 0
    began: str = ""
    answering: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run; `name` tells it from the others of a report."""

    name: str
    folder: Path
    plan: Plan
    figures: Figures

    @classmethod
    def load(cls, folder: Path) -> Run:
        """Read the figures of a run. InputError when it is none, not finished, or of a format unknown here."""
        if not folder.is_dir():
            raise InputError(f"There is no folder {folder}.", hint="A run is the folder that `rqa eval` wrote.")
        plan = _read(folder / "run.json", Plan, "it is not the folder of a run", "Name a folder that `rqa eval` wrote.")
        figures = _read(
            folder / "metrics.json", Figures, "the run is not finished", "`rqa eval` with --resume finishes it."
        )
        return cls(folder.resolve().name, folder, plan, figures)

    @property
    def fates(self) -> dict[str, Fate]:
        """What became of each strategy, by name."""
        return {fate.name: fate for fate in self.figures.strategies}

    @property
    def answered(self) -> list[str]:
        """The strategies that have answers, in the order of tables."""
        names = [strategy.name for strategy in self.plan.strategies]
        return [name for name in names if (fate := self.fates.get(name)) and fate.state != "left out"]

    @property
    def verdict(self) -> str:
        """The metric that says whether an answer is right: accuracy, which `rqa eval` always measures."""
        measured = [metric.name for metric in self.figures.metrics]
        return "accuracy" if "accuracy" in measured else self.figures.metric

    @property
    def asks(self) -> tuple[QuestionSet | int, ...]:
        """What its questions are, the same for runs that can be compared: the sets, and the seed of what is drawn."""
        return (*self.plan.sets, self.plan.seed)

    @property
    def half_asked(self) -> frozenset[str]:
        """The strategies that have answers to some of the questions alone: they are no equals of the others."""
        return frozenset(fate.name for fate in self.figures.strategies if fate.asked)

    def named(self, strategy: str) -> str:
        """The strategy as tables name it."""
        fate = self.fates.get(strategy)
        return strategy + fate.asked if fate else strategy

    def answers_file(self, strategy: str) -> Path:
        """The file of a strategy's answers; it may be absent. InputError when it would lie outside the folder."""
        file = next(answers.file for answers in self.plan.strategies if answers.name == strategy)
        path = self.folder / file
        if not path.resolve().is_relative_to(self.folder.resolve()):
            raise InputError(f"{self.folder / 'run.json'} names a file outside its folder: {file}.")
        return path


def load_runs(folders: Sequence[Path]) -> list[Run]:
    """The runs of a report, each with a name of its own: that of its folder, numbered where two are the same."""
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
        found = msgspec.json.decode(data, type=dict[str, msgspec.Raw]).get("format")
        if found is not None and bytes(found) != str(_FORMAT).encode():
            raise InputError(
                f"{path} is of format {bytes(found).decode('utf-8', 'replace')}; this rqa reads format {_FORMAT}.",
                hint="Report it with the version of rqa that wrote it.",
            )
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path} cannot be read: {error}", hint=hint) from error
