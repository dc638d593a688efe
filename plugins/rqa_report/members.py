"""The members of a pool in a run, its strategies or the retrievers that one of them asked, and what each answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from robust_qa import InputError
from robust_qa.kit import normalise, words

from .inconsistency import Outcomes, Questions, questions
from .rows import Asked, Row, Rows
from .runs import Run


@dataclass(frozen=True, slots=True)
class Selection:
    """Which rows to look at, and when an answer counts as right.

    `pool` is a strategy whose retrievers are the members, None for the strategies themselves; `set` None for all sets;
    `metric` None for Run.verdict, of which `least` is right. Eq. 4 passes over the questions that some member
    answers in more than `longest` words, None for any length.
    """

    pool: str | None = None
    set: str | None = None
    condition: str | None = None
    metric: str | None = None
    least: float = 1.0
    longest: int | None = None


@dataclass(frozen=True, slots=True)
class Members:
    """What is known of members that were asked the same questions: `asked` many, of which each got `correct` right.

    `outcomes` are over the questions that Eq. 4 can be told of, empty where there are none. `passed_over` counts the
    others by the reason; `unused` the rows that do not count at all.
    """

    names: tuple[str, ...]
    asked: int
    correct: tuple[Questions, ...]
    outcomes: tuple[Outcomes, ...]
    passed_over: dict[str, int]
    unused: dict[str, int]


@dataclass(frozen=True, slots=True)
class _Reply:
    """One member's answer; `passages` None where what it read is not known, `correct` None where nobody measured it."""

    answer: str | None
    correct: bool | None
    passages: tuple[str, ...] | None
    failed: bool = False


def members(run: Run, chosen: Selection) -> Members:
    """The members of a run and their answers. InputError where fewer than two answered the same question."""
    names, replies_of = _pool(run, chosen) if chosen.pool else _strategies(run, chosen)
    if len(names) < 2:
        there = f"one member only, {names[0]}" if names else "no member"
        raise InputError(
            f"{run.folder} has {there}: nothing to compare.",
            hint="It takes two strategies that ran, or --pool with a strategy that asks several retrievers.",
        )
    correct: list[list[bool]] = []
    known: list[list[dict[str, bool]]] = []
    unused: Counter[str] = Counter()
    passed_over: Counter[str] = Counter()
    with Rows(run) as rows:
        for row in rows:
            if chosen.set not in (None, row.asked.set) or chosen.condition not in (None, row.asked.condition):
                continue
            replies = replies_of(row)
            if why := _unusable(row.asked, replies):
                unused[why] += 1
                continue
            whole = [reply for reply in replies if reply is not None]
            correct.append([bool(reply.correct) for reply in whole])
            if why := _untold(whole, chosen.longest):
                passed_over[why] += 1
            else:
                known.append(_facts(row.asked, whole))
    if not correct:
        told = ", ".join(f"{count:,} {why}" for why, count in unused.items()) or "no row is of that set and condition"
        raise InputError(f"{run.folder} has no question to compare by: {told}.", hint="It takes gold answers.")
    each = range(len(names))
    return Members(
        names=tuple(names),
        asked=len(correct),
        correct=tuple(questions([row[n] for row in correct]) for n in each),
        outcomes=tuple(
            Outcomes(**{spec.name: questions([row[n][spec.name] for row in known]) for spec in fields(Outcomes)})
            for n in each
        )
        if known
        else (),
        passed_over=dict(passed_over),
        unused=dict(unused),
    )


_Replies = Callable[[Row], Sequence[_Reply | None]]


def _strategies(run: Run, chosen: Selection) -> tuple[list[str], _Replies]:
    metric = chosen.metric or run.verdict
    if metric not in {known.name for known in run.figures.metrics}:
        known = ", ".join(known.name for known in run.figures.metrics)
        raise InputError(f"{run.folder} has no metric {metric!r}; it has: {known}.")
    names = [s.name for s in run.plan.strategies if (fate := run.fates.get(s.name)) and fate.state == "done"]

    def reply(row: Row, name: str) -> _Reply | None:
        line = row.answers.get(name)
        if line is None:
            return None
        failed = "error" in line
        score = row.scored.scores.get(name, {}).get(metric)
        correct = False if failed else None if score is None else score >= chosen.least
        return _Reply(_answer(line), correct, _texts(row.asked), failed)

    return names, lambda row: [reply(row, name) for name in names]


def _texts(asked: Asked) -> tuple[str, ...] | None:
    if asked.passages is None:
        return None
    return tuple(f"{passage.title}\n{passage.text}" for passage in asked.passages)


def _pool(run: Run, chosen: Selection) -> tuple[list[str], _Replies]:
    """The retrievers that the strategy `eor`, or one whose account has the same shape, tells of in its details."""
    pool = str(chosen.pool)
    if pool not in run.fates:
        raise InputError(f"{run.folder} has no strategy {pool!r}; it has: {', '.join(run.fates)}.")

    def account(row: Row) -> dict[str, Any]:
        details = row.answers.get(pool, {}).get("details")
        return details if isinstance(details, dict) else {}

    def tellings(row: Row) -> dict[str, dict[str, Any]]:
        told = _objects(account(row).get("retrievers"))
        return {name: one for one in told if isinstance(name := one.get("retriever"), str)}

    def reply(row: Row, told: dict[str, Any]) -> _Reply:
        answer = _answer(told)
        there = [f"{p.get('title', '')}\n{p.get('text', '')}" for p in _objects(account(row).get("passages"))]
        numbers = told.get("passages") or ()
        read = tuple(there[n - 1] for n in numbers if isinstance(n, int) and 0 < n <= len(there))
        correct = answer is not None and _has_all(normalise(answer), row.asked.gold)
        return _Reply(answer, correct, read, failed=bool(told.get("error")))

    def replies(row: Row) -> list[_Reply | None]:
        told = tellings(row)
        return [reply(row, told[name]) if name in told else None for name in names]

    with Rows(run) as rows:
        names = next((list(told) for row in rows if (told := tellings(row))), [])
    if not names:
        raise InputError(
            f"In {run.folder} the answers of {pool} tell of no retrievers.", hint="`eor` is one that does."
        )
    return names, replies


def _objects(told: Any) -> list[dict[str, Any]]:
    """The objects of a list in an account, which may be anything."""
    return [one for one in told if isinstance(one, dict)] if isinstance(told, list) else []


def _answer(line: dict[str, Any]) -> str | None:
    answer = line.get("answer")
    return answer if isinstance(answer, str) else None


def _unusable(asked: Asked, replies: Sequence[_Reply | None]) -> str:
    if not asked.gold:
        return "without a gold answer"
    if any(reply is None or reply.correct is None for reply in replies):
        return "that not every member has a measured answer to"
    return ""


def _untold(replies: Sequence[_Reply], longest: int | None) -> str:
    if any(reply.failed for reply in replies):
        return "on which a member failed"
    if any(reply.passages is None for reply in replies):
        return "whose passages the run does not keep"
    if longest is not None and any(len(words(reply.answer or "")) > longest for reply in replies):
        return f"with an answer of more than {longest} words"
    return ""


def _facts(asked: Asked, replies: Sequence[_Reply]) -> list[dict[str, bool]]:
    """By member, what Outcomes has of one question. Text is compared as accuracy is: contained, both normalised."""
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
    """Whether the text has every fact, in one of its forms."""
    return all(any(form and form in normalised for form in map(normalise, fact)) for fact in gold)
