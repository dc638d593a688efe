"""Call a strategy, and check its answer or its corrected passages against the contract."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence
from typing import Any

from ..calls.contract import CONTRACT, attributed, invalid, validated
from ..errors import PluginError
from ..kit.citations import is_from
from ..protocols import Toolbox
from ..types import Answer, Citation, Passage


async def answer_of(name: str, strategy: Any, toolbox: Toolbox, received: Sequence[Passage]) -> Answer:
    """The answer of `strategy` to the toolbox's question.

    Raises PluginError if it returns none, or cites a passage that is neither in `received` nor the question's own.
    """
    await asyncio.sleep(0)  # a pending Ctrl-C ends the task here, not inside the plugin
    with attributed(f"Strategy {name!r}"):
        result = await _awaited(name, "answer", strategy.answer(toolbox.question.text, toolbox))
    answer: Answer = _checked(name, result, Answer)
    passages = [*(toolbox.question.passages or ()), *received]
    guessed = answer.best_guess.citations if answer.best_guess else ()
    for citation in (*cited(answer), *guessed, *answer.closest):
        if citation.origin != "memory" and not any(is_from(citation, passage) for passage in passages):
            source = citation.source or citation.title or citation.id
            raise invalid(
                f"Strategy {name!r}", name, f"a citation of {source!r} that is in no passage it got: {citation.quote!r}"
            )
    return answer


def cited(answer: Answer) -> list[Citation]:
    """The citations of the answer and of the sides of its conflicts."""
    return [*answer.citations, *(citation for side in answer.conflicts for citation in side.citations)]


async def corrected_by(name: str, strategy: Any, toolbox: Toolbox) -> list[Passage]:
    """The passages that `strategy` corrects. Raises PluginError if it returns none."""
    with attributed(f"Strategy {name!r}"):
        result = await _awaited(name, "correct", strategy.correct(toolbox.question.text, toolbox))
    passages: list[Passage] = _checked(name, result, list[Passage])
    return passages


async def _awaited(name: str, method: str, result: Any) -> Any:
    if not inspect.isawaitable(result):
        raise PluginError(f"`{method}` of strategy {name!r} is a plain `def`. Write `async def`.", hint=CONTRACT)
    return await result


def _checked(name: str, result: Any, promised: Any) -> Any:
    valid, problem = validated(result, promised)
    if problem:
        raise invalid(f"Strategy {name!r}", name, problem)
    return valid
