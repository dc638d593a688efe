"""The members of a pool and their answers: the strategies of a run, or the retrievers of one strategy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, cast

from robust_qa import Answer, InputError, Outcome
from robust_qa.kit import normalise, words
from rqa_eval.metrics import METRICS, reads_text
from rqa_eval.report.runs import Run

from ..rows import Asked, Row, Rows
from .ratios import Outcomes, Questions, questions


@dataclass(frozen=True, slots=True)
class Selection:
    """The rows to use, and the criterion for a right answer.

    `pool`: the ensemble whose retrievers are the members, with the ensemble itself as the last one; None: the
    strategies are the members.
    `metric`: an answer is right if it has 1 by this metric (None: Run.correctness). The answers of a pool can have any
    metric that reads only the text.
    `longest`: Eq. 4 excludes questions with an answer of more words; None for no limit.
    """

    pool: str | None = None
    condition: str | None = None
    metric: str | None = None
    longest: int | None = None


@dataclass(frozen=True, slots=True)
class Members:
    """The members and their answers to the same `asked` questions.

    `pool`: how many of them, from the first, form the pool; an ensemble comes after its pool.
    `correct`: the questions that each member answers right.
    `outcomes`: by member, over the questions that Eq. 4 can use; empty without any.
    `excluded`: by reason, the number of questions that Eq. 4 cannot use.
    `unused`: by reason, the number of questions that are not used at all.
    """

    names: tuple[str, ...]
    pool: int
    asked: int
    correct: tuple[Questions, ...]
    outcomes: tuple[Outcomes, ...]
    excluded: dict[str, int]
    unused: dict[str, int]


@dataclass(frozen=True, slots=True)
class _Reply:
    """An answer of a member. `passages` and `correct` are None if unknown."""

    answer: str | None
    correct: bool | None
    passages: tuple[str, ...] | None
    failed: bool = False


def members(run: Run, chosen: Selection) -> Members:
    """Return the members of a run and their answers. Raises InputError if there are fewer than two members."""
    names, replies_of = _pool(run, chosen.pool, chosen) if chosen.pool else _strategies(run, chosen)
    pool = len(names) - (chosen.pool is not None)
    if pool < 2:
        found = f"only one member, {names[0]}" if pool else "no member"
        raise InputError(
            f"{run.folder} has {found}. There is nothing to compare.",
            hint="Use a run with two strategies, or --pool with a strategy that asks several retrievers.",
        )
    correct: list[list[bool]] = []
    known: list[list[dict[str, bool]]] = []
    unused: Counter[str] = Counter()
    excluded: Counter[str] = Counter()
    with Rows(run) as rows:
        for row in rows:
            if chosen.condition not in (None, row.asked.condition):
                continue
            replies = replies_of(row)
            if why := _unusable(row.asked, replies):
                unused[why] += 1
                continue
            complete = [reply for reply in replies if reply is not None]
            correct.append([bool(reply.correct) for reply in complete])
            if why := _excluded(complete, chosen.longest):
                excluded[why] += 1
            else:
                known.append(_facts(row.asked, complete))
    if not correct:
        reasons = ", ".join(f"{count:,} {why}" for why, count in unused.items()) or "the condition has no rows"
        raise InputError(f"{run.folder} has no question to compare: {reasons}.", hint="Use a set with gold answers.")
    each = range(len(names))
    return Members(
        names=tuple(names),
        pool=pool,
        asked=len(correct),
        correct=tuple(questions([row[n] for row in correct]) for n in each),
        outcomes=tuple(
            Outcomes(**{spec.name: questions([row[n][spec.name] for row in known]) for spec in fields(Outcomes)})
            for n in each
        )
        if known
        else (),
        excluded=dict(excluded),
        unused=dict(unused),
    )


_Replies = Callable[[Row], Sequence[_Reply | None]]


def _strategies(run: Run, chosen: Selection) -> tuple[list[str], _Replies]:
    metric = chosen.metric or run.correctness
    if metric not in {known.name for known in run.figures.metrics}:
        known = ", ".join(known.name for known in run.figures.metrics)
        raise InputError(f"{run.folder} has no metric {metric!r}. It has: {known}.")
    names = [s.name for s in run.plan.strategies if (result := run.results.get(s.name)) and result.state == "done"]

    def reply(row: Row, name: str) -> _Reply | None:
        line = row.answers.get(name)
        if line is None:
            return None
        failed = bool(line.get("error"))
        score = row.scored.scores.get(name, {}).get(metric)
        correct = False if failed else None if score is None else score >= 1
        return _Reply(_answer(line), correct, _texts(row.asked), failed)

    return names, lambda row: [reply(row, name) for name in names]


def _texts(asked: Asked) -> tuple[str, ...] | None:
    if asked.passages is None:
        return None
    return tuple(f"{passage.title}\n{passage.text}" for passage in asked.passages)


def _pool(run: Run, ensemble: str, chosen: Selection) -> tuple[list[str], _Replies]:
    """Return the retrievers in the details of an ensemble's answers, which have the format of `eor`, and itself."""
    if ensemble not in run.results:
        raise InputError(f"{run.folder} has no strategy {ensemble!r}. It has: {', '.join(run.results)}.")

    def details(row: Row) -> dict[str, Any]:
        found = row.answers.get(ensemble, {}).get("details")
        return found if isinstance(found, dict) else {}

    def retrievers(row: Row) -> dict[str, dict[str, Any]]:
        entries = _objects(details(row).get("retrievers"))
        return {name: one for one in entries if isinstance(name := one.get("retriever"), str)}

    by_text = {
        metric.name: cast(Callable[[Outcome], float | None], metric.measure) for metric in METRICS if reads_text(metric)
    }
    if (name := chosen.metric or "accuracy") not in by_text:
        raise InputError(f"A pool cannot be compared by {name!r}. Choose from: {', '.join(by_text)}.")
    measure = by_text[name]

    def reply(row: Row, answer: str | None, read: Sequence[str], *, failed: bool) -> _Reply:
        gold = tuple(map(tuple, row.asked.gold))
        score = measure(Outcome(row.asked.question, gold, Answer(answer)))
        return _Reply(answer, None if score is None else score >= 1, tuple(read), failed)

    def replies(row: Row) -> list[_Reply | None]:
        passages = [f"{p.get('title', '')}\n{p.get('text', '')}" for p in _objects(details(row).get("passages"))]
        entries = retrievers(row)
        found: list[_Reply | None] = []
        for name in names:
            entry = entries.get(name, {})
            numbers = entry.get("passages") or ()
            read = [passages[n - 1] for n in numbers if isinstance(n, int) and 0 < n <= len(passages)]
            found.append(reply(row, _answer(entry), read, failed=bool(entry.get("error"))) if entry else None)
        line = row.answers.get(ensemble)
        voted = reply(row, _answer(line), passages, failed=False) if line and entries else None
        return [*found, voted]

    with Rows(run) as rows:
        names = next((list(entries) for row in rows if (entries := retrievers(row))), [])
    if not names:
        raise InputError(
            f"The answers of {ensemble} in {run.folder} do not list retrievers.", hint="Use --pool with `eor`."
        )
    return [*names, ensemble], replies


def _objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list in the details, which plugins define."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _answer(line: dict[str, Any]) -> str | None:
    answer = line.get("answer")
    return answer if isinstance(answer, str) else None


def _unusable(asked: Asked, replies: Sequence[_Reply | None]) -> str:
    if not asked.gold:
        return "without a gold answer"
    if any(reply is None or reply.correct is None for reply in replies):
        return "that not every member has a measured answer to"
    return ""


def _excluded(replies: Sequence[_Reply], longest: int | None) -> str:
    if any(reply.failed for reply in replies):
        return "on which a member failed"
    if any(reply.passages is None for reply in replies):
        return "whose passages the run does not keep"
    if longest is not None and any(len(words(reply.answer or "")) > longest for reply in replies):
        return f"with an answer of more than {longest} words"
    return ""


def _facts(asked: Asked, replies: Sequence[_Reply]) -> list[dict[str, bool]]:
    """Return the fields of Outcomes for one question, by member. Passages are compared as for has-answer."""
    plain = cache(normalise)  # members share passages

    def of(reply: _Reply) -> dict[str, bool]:
        read = [plain(passage) for passage in reply.passages or ()]
        answer = plain(reply.answer or "")
        return {
            "asked": True,
            "correct": bool(reply.correct),
            "answered": reply.answer is not None,
            "retrieved": _has_all("\n".join(read), asked.gold),
            "grounded": bool(answer) and any(answer in passage for passage in read),
        }

    return [of(reply) for reply in replies]


def _has_all(normalised: str, gold: Sequence[Sequence[str]]) -> bool:
    """Return whether the text contains every fact."""
    return all(any(form and form in normalised for form in map(normalise, fact)) for fact in gold)
