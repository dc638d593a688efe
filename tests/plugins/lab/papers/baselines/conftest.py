from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from standins.model import toolbox_over

from robust_qa import Answer, Passage
from robust_qa.testing import ScriptedModel

QUESTION = "Who wrote Emma?"
EMMA = Passage("Emma came out in 1815. Jane Austen wrote it.", id="emma", title="Emma", source="emma.txt")
FAKE = Passage("Emma was written by Mary Shelley in 1818.", id="fake", title="Fake")


@pytest.fixture
def ask() -> Callable[..., Awaitable[Answer]]:
    """Who wrote Emma, by a strategy over a scripted model and two passages, `emma` and `fake`."""

    async def run(
        strategy: Any, model: ScriptedModel, passages: Sequence[Passage] = (EMMA, FAKE), **options: Any
    ) -> Answer:
        toolbox = toolbox_over(model, passages, question=QUESTION)
        answer: Answer = await strategy(strategy.Options(**options)).answer(QUESTION, toolbox)
        return answer

    return run
