"""A strategy's toolbox over a question's own passages, and what the strategy asked its model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from robust_qa import Passage, Question
from robust_qa.answering.toolbox import SessionToolbox
from robust_qa.testing import ScriptedModel, toolbox


def toolbox_over(
    reader: Any, passages: Iterable[Passage] | None = None, *, question: str = "?", **more: Any
) -> SessionToolbox:
    """The host's toolbox over these components, the passages being the question's own."""
    own = None if passages is None else tuple(passages)
    return toolbox(Question(question, passages=own), reader=reader, **more)


def prompts_of(model: ScriptedModel) -> list[str]:
    """Each call's messages as one text."""
    return ["\n".join(message.content for message in messages) for messages, _ in model.calls]
