"""Choose thresholds by the answers of a corrective strategy."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from robust_qa import InputError, Passage, Question
from robust_qa.cli import Answering
from robust_qa.cli.batch_run import in_session
from robust_qa.kit import contains_answer

from .thresholds import midway

if TYPE_CHECKING:
    from robust_qa.answering import Session
    from robust_qa.cli import Run

    from .rows import Asked

ACTIONS = ("correct", "ambiguous", "incorrect")
_CONCURRENCY = 64  # questions in flight
_FORMAT = 'Write a line as {"question": ..., "answers": [...], "passages": [...]}.'


@dataclass(frozen=True, slots=True)
class ByAction:
    """A question's best score, and whether its answer is right with each of ACTIONS."""

    best: float
    right: tuple[bool, bool, bool]


def require_answers(asked: Sequence[Asked]) -> None:
    """Raise InputError if there is no question, or a question without answers."""
    if not asked:
        raise InputError("The data has no question with answers and passages.", hint=_FORMAT)
    missing = next((one.question for one in asked if not one.answers), None)
    if missing is not None:
        raise InputError(
            f"The question {missing!r} has no answers.",
            hint=_FORMAT,
        )


def answer_by_action(
    run: Run, strategy: str, evaluator: str | None, asked: Sequence[Asked], best: Sequence[float]
) -> list[ByAction]:
    """Answer every question from its passages with every action, by the option `ablation` of the strategy."""
    questions = [
        Question(one.question, passages=tuple(Passage(c.bare, title=c.title) for c in one.candidates)) for one in asked
    ]

    async def work(session: Session) -> list[bool]:
        slots = asyncio.Semaphore(_CONCURRENCY)

        async def right(question: Question, facts: Sequence[Sequence[str]]) -> bool:
            async with slots:
                text = (await session.answer(question)).text or ""
            return all(contains_answer(text, fact) for fact in facts)

        return await asyncio.gather(*(right(q, one.facts) for q, one in zip(questions, asked, strict=True)))

    found = []
    for action in ACTIONS:
        option = [(f"strategy.{strategy}.ablation", f"only-{action}")]
        if evaluator is not None:
            option.append((f"strategy.{strategy}.evaluator", evaluator))
        found.append(in_session(run, Answering(strategy=strategy, option=tuple(option)), work, detailed=False))
    return [ByAction(score, right) for score, right in zip(best, zip(*found, strict=True), strict=True)]


def choose(found: Sequence[ByAction]) -> tuple[float, float, float]:
    """Return (upper, lower, accuracy): the thresholds with the most right answers on these questions.

    Abstaining counts as wrong, so without a web search Incorrect never pays.
    """
    found = sorted(found, key=lambda one: one.best)
    scores = np.array([one.best for one in found])
    correct, ambiguous, incorrect = (
        np.array(right, float) for right in zip(*(one.right for one in found), strict=True)
    )
    # If the first i questions are Incorrect and those from j on Correct, the number of right answers is
    # sum(incorrect[:i]) + sum(ambiguous[i:j]) + sum(correct[j:]).
    below = np.concatenate([[0.0], np.cumsum(incorrect - ambiguous)])
    above = np.concatenate([np.cumsum((correct - ambiguous)[::-1])[::-1], [0.0]])
    distinct = np.concatenate([[True], scores[1:] > scores[:-1], scores[-1:] < 1])  # equal scores share an action
    below, above = np.where(distinct, below, -np.inf), np.where(distinct, above, -np.inf)
    first = np.maximum.accumulate(below)
    top = int(np.argmax(above + first))
    bottom = int(np.argmax(below[: top + 1]))
    upper = midway(scores, top)
    right = (below[bottom] + above[top] + ambiguous.sum()) / len(found)
    return upper, min(upper, midway(scores, bottom)), float(right)


def accuracies(found: Sequence[ByAction]) -> dict[str, float]:
    """Return for each action the share of right answers if every question takes it."""
    return {action: sum(one.right[n] for one in found) / len(found) for n, action in enumerate(ACTIONS)}
