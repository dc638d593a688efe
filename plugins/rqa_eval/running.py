"""A run from beginning to end: questions, a batch for each strategy, scores."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from robust_qa import InputError, Metric, Question, __version__
from robust_qa.batch import answered_by
from robust_qa.cli.batch_run import Target, answer_rows

from .asking import QuestionSet, lines, with_passages
from .conditions import Condition
from .folder import FORMAT, Folder
from .holding import held
from .outcomes import read_outcomes
from .scoring import Scores
from .slices import VIEWS, View
from .strategies import ALL, able, named, refused

if TYPE_CHECKING:
    from robust_qa.answering import Session
    from robust_qa.cli import Run


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked of a run. `metric` is the one that views show; None: that of the run, or the first of `metrics`."""

    folder: Path
    sets: Sequence[QuestionSet]
    strategies: Sequence[str]
    conditions: Sequence[Condition]
    views: Sequence[View]
    metrics: Sequence[Metric]
    metric: str | None = None
    baseline: str | None = None
    sample: int | None = None
    seed: int = 0
    jobs: int = 8
    fakes: bool = False
    resume: bool = False
    retry: bool = False
    force: bool = False


@dataclass(slots=True)
class Standing:
    """How a strategy fared: "failed" on every row, "left out" when it could not begin.

    It has answers to `rows` of the `questions` of the run.
    """

    name: str
    state: Literal["done", "failed", "left out"] = "done"
    rows: int = 0
    questions: int = 0
    failed: int = 0
    message: str = ""


@dataclass(slots=True)
class Result:
    """metrics.json, as it is written."""

    metrics: dict[str, Any]
    standings: list[Standing] = field(default_factory=list)

    @property
    def flawed(self) -> bool:
        """Whether a row failed, or a strategy was left out."""
        return any(standing.failed or standing.state == "left out" for standing in self.standings)


async def evaluate(run: Run, session: Session, plan: Plan) -> Result:
    """Ask, score, and leave it all in the folder. What is there already of the same run is kept.

    Raises InputError where the folder is of another run, BusyError where another process is writing it, ConfigError or
    MissingError where no strategy can run, CallError where passages cannot be retrieved. A row that fails is that
    strategy's matter.
    """
    names = _names(session, plan)
    first, *_ = able(names, refused(session, names, has_passages=True, as_given=True))
    folder = Folder(plan.folder)
    description = _description(session, plan, folder, names)
    description["answering"] = answered_by(session, first, has_passages=True, as_given=True)
    with folder.locked():
        whole = folder.begin(description, resume=plan.resume, force=plan.force)
        return await _evaluate(run, session, plan, folder, names=names, whole=whole)


async def _evaluate(
    run: Run, session: Session, plan: Plan, folder: Folder, *, names: Sequence[str], whole: Mapping[str, Any]
) -> Result:
    """Ask the strategies of these `names`, and score them with the others of the `whole` run, as it is described."""
    if not folder.questions.exists():
        await _write_questions(run, session, plan, folder)
    has_passages = _bring_passages(folder)
    unable = refused(session, names, has_passages=has_passages, as_given=True)
    running = able(names, unable)
    if ALL in plan.strategies:
        if unable:
            run.say(f"not with this configuration: {', '.join(unable)}")
        unable = {}
    for name, error in unable.items():
        run.say(f"{name} is left out: {error.message}")
    for hint in dict.fromkeys(error.hint for error in unable.values() if error.hint):
        run.say(" ".join(hint.splitlines()))
    targets = {name: Target(folder.answers(name), resume=True, force=False, retry=plan.retry) for name in running}
    _check_continues(session, folder, targets, has_passages=has_passages)
    folder.forget_figures()
    for name, target in targets.items():
        with folder.questions.open("rb", buffering=0) as questions:
            await answer_rows(
                run,
                session,
                questions.fileno(),
                target,
                strategy=name,
                as_given=True,
                has_passages=has_passages,
                jobs=plan.jobs,
                passages=False,
                details=True,
                trace=True,
            )
    left_out = [Standing(name, "left out", message=error.message) for name, error in unable.items()]
    scored = [one["name"] for one in whole["strategies"] if one["name"] in running or one["name"] not in names]
    plan = replace(plan, metric=whole["metric"], baseline=whole["baseline"], views=[VIEWS[v] for v in whole["views"]])
    return await _score(run, session, plan, folder, scored, left_out=left_out, judging=_judging(session, running[0]))


def _names(session: Session, plan: Plan) -> list[str]:
    """The strategies to run, in order, with those that the views look at. ConfigError where there is no such one."""
    asked = named(session, plan.strategies) or [session.plan(has_passages=True).name]
    looked_at = [name for view in plan.views for name in view.needs]
    names = list(dict.fromkeys([*asked, *looked_at, *([plan.baseline] if plan.baseline else [])]))
    for name in names:
        session.check_strategy(name)
    return names


def _bring_passages(folder: Folder) -> bool:
    """Whether any question has passages: those that have none fail by themselves where they are needed."""
    with folder.questions.open("rb") as file:
        return any("passages" in json.loads(line) for line in file)


def _check_continues(session: Session, folder: Folder, targets: Mapping[str, Target], *, has_passages: bool) -> None:
    """InputError where a strategy has answers that it would not give now: before any of them is asked."""
    with folder.questions.open("rb", buffering=0) as questions:
        for name, target in targets.items():
            try:
                target.check_continues(
                    session, questions.fileno(), has_passages=has_passages, strategy=name, as_given=True
                )
            except InputError as error:
                file = folder.answers(name).relative_to(folder.path)
                raise InputError(
                    error.message,
                    hint=f"Continue it with what it was begun with, or remove {file}* to ask that strategy again.",
                ) from error


def _description(session: Session, plan: Plan, folder: Folder, names: Sequence[str]) -> dict[str, Any]:
    return {
        "rqa": __version__,
        "began": datetime.now(UTC).isoformat(timespec="seconds"),
        "sets": [one.about for one in plan.sets],
        "strategies": [{"name": n, "file": str(folder.answers(n).relative_to(folder.path))} for n in names],
        "conditions": [condition.name for condition in plan.conditions],
        "views": [view.name for view in plan.views],
        "sample": plan.sample,
        "seed": plan.seed,
        "retrieval": _retrieval(session, plan),
        "baseline": plan.baseline,
        "metric": plan.metric,
    }


def _retrieval(session: Session, plan: Plan) -> list[dict[str, str]]:
    """What the passages depend on, of questions that bring none and of those that bring some."""
    brings = {item.passages is not None for one in plan.sets for item in one.items}
    return [session.toolbox_for(Question("", passages=() if some else None)).retrieval() for some in sorted(brings)]


async def _write_questions(run: Run, session: Session, plan: Plan, folder: Folder) -> None:
    sets = []
    for one in plan.sets:
        run.say(f"{one.name}: {len(one.items):,} questions, read as {one.about['format']}")
        items = await with_passages(session, one.items, jobs=plan.jobs)
        if others := sum(item.fake_source == "other" for item in items):
            run.say(f"{one.name}: {others:,} of the fake answers are those of questions of another kind")
        sets.append(replace(one, items=items))
    folder.write_lines("questions.jsonl", lines(sets, plan.conditions, seed=plan.seed))
    if plan.fakes:
        with folder.questions.open("rb") as file:
            reached = {(row["set"], row["source_row"]) for row in map(json.loads, file) if row.get("planted")}
        for one in sets:
            if missed := sum((one.name, item.number) not in reached for item in one.items):
                run.say(f"{one.name}: nothing is planted for {missed:,} of {len(one.items):,} questions")


def _judging(session: Session, strategy: str) -> dict[str, Any]:
    """What judges texts for metrics of plugins, as fields of Outcome; none where no evaluator is configured."""
    if not session.plan(has_passages=True, strategy=strategy, as_given=True).components.evaluator:
        return {}
    toolbox = session.toolbox("evaluator")
    return {"judge": toolbox.score, "bar": (toolbox.thresholds() or (0.0,))[0]}


async def _score(
    run: Run,
    session: Session,
    plan: Plan,
    folder: Folder,
    scored: Sequence[str],
    *,
    left_out: Sequence[Standing],
    judging: Mapping[str, Any],
) -> Result:
    names = [metric.name for metric in plan.metrics]
    main = plan.metric if plan.metric in names else names[0]
    files = {name: folder.answers(name) for name in scored}
    asked = read_outcomes(folder, files, cost=session.cost, **judging)
    scores = await Scores.of(asked, scored, plan.metrics, plan.views)
    folder.write_lines("scores.jsonl", scores.lines())
    total = len(scores.questions)
    for name in (name for name in scored if name not in scores.whole):
        run.say(f"{name} was asked {scores.rows[name]:,} of {total:,} questions; name it with -s to ask the others")
    standings = [_standing(name, scores) for name in scored] + list(left_out)
    baseline = plan.baseline if plan.baseline in scores.whole else None
    metrics = {
        "format": FORMAT,
        "metric": main,
        "baseline": baseline,
        "metrics": [
            {"name": metric.name, "summary": metric.summary, "unit": metric.unit, "better": metric.better}
            for metric in plan.metrics
        ],
        "strategies": [asdict(standing) for standing in standings],
        "views": {view.name: view.needs for view in plan.views},  # each with the strategies whose answers it looks at
        "passages": _passages(folder) if {"has-answer", "retrieval-precision"} <= set(names) else None,
        "groups": scores.groups(baseline=baseline, seed=plan.seed),
    }
    folder.write("metrics.json", json.dumps(metrics, indent=1) + "\n")
    return Result(metrics, standings)


def _passages(folder: Folder) -> dict[str, float] | None:
    """What the passages hold, over all questions; None where that is not known."""
    with folder.questions.open("rb") as file:
        found = held(map(json.loads, file))
    return None if found is None else dict(zip(("questions", "has-answer", "retrieval-precision"), found, strict=True))


def _standing(name: str, scores: Scores) -> Standing:
    rows, failed = scores.rows[name], scores.failed[name]
    state: Literal["done", "failed"] = "failed" if rows and failed == rows else "done"
    return Standing(name, state, rows, len(scores.questions), failed, scores.first_error.get(name, ""))
