"""Thresholds by what they are for: those with which a corrective strategy answers most questions rightly."""

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
_AT_ONCE = 64  # questions in flight
_FORMAT = 'Write a line as {"question": ..., "answers": [...], "passages": [...]}.'


@dataclass(frozen=True, slots=True)
class ByAction:
    """A question's best score, and whether its answer is right under each of ACTIONS."""

    best: float
    right: tuple[bool, bool, bool]


def need_answers(asked: Sequence[Asked]) -> None:
    """Raise InputError for a question without answers, and for no question."""
    if not asked:
        raise InputError("The data has no question with answers and passages to choose thresholds by.", hint=_FORMAT)
    lacking = next((one.question for one in asked if not one.answers), None)
    if lacking is not None:
        raise InputError(
            f"The question {lacking!r} has no answers to hold the strategy's against.",
            hint=_FORMAT,
        )


def outcomes(
    run: Run, strategy: str, evaluator: str | None, asked: Sequence[Asked], best: Sequence[float]
) -> list[ByAction]:
    """Every question answered from its passages under every action. The strategy has an option `ablation`, as crag has.

    Raises what the strategy raises.
    """
    questions = [
        Question(one.question, passages=tuple(Passage(c.bare, title=c.title) for c in one.candidates)) for one in asked
    ]

    async def work(session: Session) -> list[bool]:
        room = asyncio.Semaphore(_AT_ONCE)

        async def right(question: Question, facts: Sequence[Sequence[str]]) -> bool:
            async with room:
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
    """(upper, lower, accuracy): the thresholds with which most of these questions are answered rightly.

    The accuracy is on the same questions. To abstain is not right, so without a search nothing pays for Incorrect.
    """
    found = sorted(found, key=lambda one: one.best)
    scores = np.array([one.best for one in found])
    correct, ambiguous, incorrect = (
        np.array(right, float) for right in zip(*(one.right for one in found), strict=True)
    )
    # With the first i questions Incorrect and those from j on Correct, i <= j, so many are right:
    # sum(incorrect[:i]) + sum(ambiguous[i:j]) + sum(correct[j:]).
    below = np.concatenate([[0.0], np.cumsum(incorrect - ambiguous)])
    above = np.concatenate([np.cumsum((correct - ambiguous)[::-1])[::-1], [0.0]])
    apart = np.concatenate([[True], scores[1:] > scores[:-1], scores[-1:] < 1])  # equal scores share an action
    below, above = np.where(apart, below, -np.inf), np.where(apart, above, -np.inf)
    first = np.maximum.accumulate(below)
    top = int(np.argmax(above + first))
    bottom = int(np.argmax(below[: top + 1]))
    upper = midway(scores, top)
    right = (below[bottom] + above[top] + ambiguous.sum()) / len(found)
    return upper, min(upper, midway(scores, bottom)), float(right)


def accuracies(found: Sequence[ByAction]) -> dict[str, float]:
    """The share of right answers when every question's action is the same, by action."""
    return {action: sum(one.right[n] for one in found) / len(found) for n, action in enumerate(ACTIONS)}
