"""An evaluation run: prepare the questions, run a batch for each strategy, score the answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from robust_qa import InputError, Metric, Passage, Question, RqaError, __version__
from rqa_rows import Batch, answered_by
from rqa_rows.running import answer_rows

from .conditions import REPEAT, Condition
from .estimates import StrategyResult
from .extras import every, find
from .folder import FORMAT, Folder
from .outcomes import read_outcomes
from .questions import QuestionSet, lines, with_passages
from .relevance import retrieval_quality
from .scoring import Scores
from .strategies import ALL, expand, supported, unsupported
from .views import View, view

if TYPE_CHECKING:
    from robust_qa.answering import Session
    from robust_qa.cli import Run

_WARM_UP = "What is loaded before the first question?"  # no question of a set, whose calls would be cached


@dataclass(frozen=True, slots=True)
class Plan:
    """The settings of a run. Views show `metric`; by default that of the continued run, or the first of `metrics`.

    `chosen`: the metrics that reports show; default: those that most people read.
    `prompts`: keep the prompt of every call in the answers.
    `over`: the text to measure, the answer or the whole reply; default: as in the continued run, or the answer.
    """

    folder: Path
    sets: Sequence[QuestionSet]
    strategies: Sequence[str]
    conditions: Sequence[Condition]
    views: Sequence[View]
    metrics: Sequence[Metric]
    metric: str | None = None
    chosen: Sequence[str] = ()
    over: Literal["answer", "reply"] | None = None
    baseline: str | None = None
    recipe: str = ""
    sample: int | None = None
    seed: int = 0
    jobs: int = 8
    fakes: bool = False
    prompts: bool = False
    resume: bool = False
    retry: bool = False
    force: bool = False


async def evaluate(run: Run, session: Session, plan: Plan) -> bool:
    """Answer and score all questions, and write the results to the folder. Existing answers of the run are kept.

    Return whether every strategy answered every question.

    Raises:
        InputError: The folder belongs to another run.
        BusyError: Another process is writing the folder.
        ConfigError, MissingError: No strategy can run.
        CallError: Passages cannot be retrieved. Rows that fail do not raise.
    """
    names = _names(session, plan)
    first, *_ = supported(names, unsupported(session, names, has_passages=True, as_given=True))
    folder = Folder(plan.folder)
    description = _description(session, plan, folder, names)
    description["record"] = {}
    for make in every("records"):
        description["record"] |= make(session, names)
    description["answering"] = answered_by(session, first, has_passages=True, as_given=True)
    with folder.locked():
        only_scoring = plan.resume and not plan.retry and folder.has_answers(names)
        whole = folder.begin(description, resume=plan.resume, force=plan.force, only_scoring=only_scoring)
        return await _evaluate(run, session, plan, folder, names=names, whole=whole)


async def _evaluate(
    run: Run, session: Session, plan: Plan, folder: Folder, *, names: Sequence[str], whole: Mapping[str, Any]
) -> bool:
    """Run the strategies in `names`. Score them together with the other strategies in `whole`, the run.json."""
    if not folder.questions.exists():
        await _write_questions(run, session, plan, folder)
    has_passages = _have_passages(folder)
    errors = unsupported(session, names, has_passages=has_passages, as_given=True)
    running = supported(names, errors)
    if ALL in plan.strategies:
        if errors:
            run.say(f"This configuration cannot run: {', '.join(errors)}.")
        errors = {}
    for name, error in errors.items():
        run.say(f"{name} is left out: {error.message}")
    for hint in dict.fromkeys(error.hint for error in errors.values() if error.hint):
        run.say(" ".join(hint.splitlines()))
    batches = {
        name: Batch(
            session,
            str(folder.questions),
            str(folder.answers(name)),
            resume=True,
            retry=plan.retry,
            jobs=plan.jobs,
            strategy=name,
            as_given=True,
            has_passages=has_passages,
            passages=False,
            details=True,
            trace="whole" if plan.prompts else True,
            say=run.say,
        )
        for name in running
    }
    _check_outputs(folder, batches)
    folder.remove_scores()
    await _warm_up(session)
    for name, batch in batches.items():
        _forget(session)
        await answer_rows(run, batch, name)
    folder.note_served(_served(session, whole["record"].get("readers", ())))
    left_out = [StrategyResult(name, "left out", message=error.message) for name, error in errors.items()]
    scored = [one["name"] for one in whole["strategies"] if one["name"] in running or one["name"] not in names]
    plan = replace(
        plan,
        metric=whole["metric"],
        over=whole["over"],
        baseline=whole["baseline"],
        views=[view(name) for name in whole["views"]],
    )
    return await _score(run, session, plan, folder, scored, left_out=left_out, judge=_judge(session, running[0]))


def _served(session: Session, readers: Iterable[str]) -> dict[str, list[str]]:
    """Return the models that the servers of the readers say they answered with, with their versions."""
    pipelines = {name: session.components.pipeline("reader", name.partition(".")[2]) for name in readers}
    return {name: sorted(getattr(one.component, "served", ())) for name, one in pipelines.items()}


async def _warm_up(session: Session) -> None:
    """Load reader and evaluator, unless they are language models, so that loading counts for no strategy."""
    toolbox = session.toolbox_for(Question(_WARM_UP, passages=()))
    with suppress(RqaError):  # the questions will say so
        if not toolbox.generative:
            await toolbox.read(_WARM_UP, [Passage("The models are loaded first.")])
        if toolbox.evaluator and not toolbox.generative:
            await toolbox.score(_WARM_UP, ["The models are loaded first."])


def _forget(session: Session) -> None:
    """Have reader and evaluator forget what they keep in memory, so that no strategy profits from the one before."""
    for kind in ("reader", "evaluator"):
        pipeline = session.components.default(kind)
        getattr(pipeline.component if pipeline else None, "forget", lambda: None)()


def _names(session: Session, plan: Plan) -> list[str]:
    """Return the strategies to run, including those that the views need. ConfigError if one does not exist."""
    requested = expand(session, plan.strategies) or [session.choose(has_passages=True)[0]]
    needed = [name for view in plan.views for name in view.needs]
    names = list(dict.fromkeys([*requested, *needed, *([plan.baseline] if plan.baseline else [])]))
    for name in names:
        session.check_strategy(name)
    return names


def _have_passages(folder: Folder) -> bool:
    """Return whether any question has passages."""
    with folder.questions.open("rb") as file:
        return any("passages" in json.loads(line) for line in file)


def _check_outputs(folder: Folder, batches: Mapping[str, Batch]) -> None:
    """Raise InputError if a strategy has earlier answers from other settings, before any strategy runs."""
    for name, batch in batches.items():
        try:
            batch.check_output()
        except InputError as error:
            file = folder.answers(name).relative_to(folder.path)
            raise InputError(
                error.message,
                hint=f"Use the settings of the first run, or delete {file}* to run this strategy again.",
            ) from error


def _description(session: Session, plan: Plan, folder: Folder, names: Sequence[str]) -> dict[str, Any]:
    return {
        "rqa": __version__,
        "began": datetime.now(UTC).isoformat(timespec="seconds"),
        "recipe": plan.recipe,
        "sets": [one.about for one in plan.sets],
        "strategies": [{"name": n, "file": str(folder.answers(n).relative_to(folder.path))} for n in names],
        "conditions": [condition.name for condition in plan.conditions],
        "views": [view.name for view in plan.views],
        "sample": plan.sample,
        "seed": plan.seed,
        "retrieval": _retrieval(session, plan),
        "baseline": plan.baseline,
        "metric": plan.metric,
        "over": plan.over,
    }


def _retrieval(session: Session, plan: Plan) -> list[dict[str, str]]:
    """Return the retrieval settings for questions without passages and for those with passages."""
    kinds = {item.passages is not None for one in plan.sets for item in one.items}
    return [session.toolbox_for(Question("", passages=() if some else None)).retrieval() for some in sorted(kinds)]


async def _write_questions(run: Run, session: Session, plan: Plan, folder: Folder) -> None:
    sets = []
    for one in plan.sets:
        run.say(f"{one.name}: {len(one.items):,} questions, format {one.about['format']}")
        items = await with_passages(session, one.items, jobs=plan.jobs)
        if others := sum(item.fake_source == "other" for item in items):
            run.say(f"{one.name}: {others:,} fake answers come from questions of another kind")
        sets.append(replace(one, items=items))
    folder.write_lines("questions.jsonl", lines(sets, plan.conditions, seed=plan.seed))
    if plan.fakes:
        with folder.questions.open("rb") as file:
            attacked = {(row["set"], row["source_row"]) for row in map(json.loads, file) if row.get("planted")}
        for one in sets:
            if missed := sum((one.name, item.number) not in attacked for item in one.items):
                run.say(f"{one.name}: nothing could be planted for {missed:,} of {len(one.items):,} questions")


def _judge(session: Session, strategy: str) -> dict[str, Any]:
    """Return the evaluator as fields of Outcome, for metrics of plugins. Empty without an evaluator."""
    if not session.choose(has_passages=True, strategy=strategy, as_given=True)[1].evaluator:
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
    left_out: Sequence[StrategyResult],
    judge: Mapping[str, Any],
) -> bool:
    names = [metric.name for metric in plan.metrics]
    main = plan.metric if plan.metric in names else names[0]
    files = {name: folder.answers(name) for name in scored}
    asked = read_outcomes(folder, files, cost=session.cost, **judge)
    scores = await Scores.of(asked, scored, plan.metrics, plan.views, over=plan.over or "answer")
    folder.write_lines("scores.jsonl", scores.lines())
    total = len(scores.questions)
    for name in (name for name in scored if name not in scores.complete):
        run.say(f"{name} answered {scores.rows[name]:,} of {total:,} questions. Add it to -s to run the others.")
    spread = find("spread", REPEAT)(scores, main) if plan.conditions[0].name.startswith(REPEAT) else {}
    if spread and not any(one["deviation"] for one in spread.values()) and not _samples(session, scored):
        run.say("All repetitions are equal. Give the reader a temperature above 0.")
    results = [_strategy_result(name, scores) for name in scored] + list(left_out)
    baseline = plan.baseline if plan.baseline in scores.complete else None
    metrics = {
        "format": FORMAT,
        "metric": main,
        "over": plan.over or "answer",
        "baseline": baseline,
        "chosen": list(plan.chosen),
        "metrics": [
            {"name": metric.name, "summary": metric.summary, "unit": metric.unit, "better": metric.better}
            for metric in plan.metrics
        ],
        "strategies": msgspec.to_builtins(results),
        "views": {view.name: view.needs for view in plan.views},
        "passages": _passages(folder) if {"has-answer", "retrieval-precision"} <= set(names) else None,
        "spread": spread,
        "groups": scores.groups(baseline=baseline, seed=plan.seed),
    }
    folder.write("metrics.json", json.dumps(metrics, indent=1) + "\n")
    return not any(result.failed or result.state == "left out" for result in results)


def _samples(session: Session, strategies: Iterable[str]) -> bool:
    """Return whether the reader or a strategy has a temperature above 0."""
    reader = session.components.default("reader")
    options = [reader and reader.options, *(session.components.component("strategy", n).options for n in strategies)]
    return any((getattr(one, "temperature", None) or 0) > 0 for one in options)


def _passages(folder: Folder) -> dict[str, float] | None:
    """Return the quality of the passages over all questions, None if unknown."""
    with folder.questions.open("rb") as file:
        found = retrieval_quality(map(json.loads, file))
    return None if found is None else dict(zip(("questions", "has-answer", "retrieval-precision"), found, strict=True))


def _strategy_result(name: str, scores: Scores) -> StrategyResult:
    rows, failed = scores.rows[name], scores.failed[name]
    state: Literal["done", "failed"] = "failed" if rows and failed == rows else "done"
    return StrategyResult(name, state, rows, len(scores.questions), failed, scores.first_error.get(name, ""))
