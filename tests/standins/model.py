"""A language model that says what a test wrote for it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from robust_qa import Completion, Continuation, Decoding, Message, Passage, Question, Token
from robust_qa.answering.toolbox import Toolbox
from robust_qa.testing import toolbox

Script = Iterable[str | Completion | Exception] | Callable[[list[Message]], Any]


class ScriptedModel:
    """Replies from a list, one reply a call, or from a function of the messages; keeps what it was asked.

    An exception is raised.
    """

    def __init__(self, script: Script, *, structured: bool = False, window: int | None = None) -> None:
        self.structured = structured
        self.window = window
        self.calls: list[tuple[list[Message], Decoding]] = []
        self._reply = script if callable(script) else _in_turn(script)

    async def generate(self, messages: list[Message], decoding: Decoding) -> Completion:
        self.calls.append((messages, decoding))
        reply = self._reply(messages)
        said = await reply if inspect.isawaitable(reply) else reply
        if isinstance(said, Exception):
            raise said
        return said if isinstance(said, Completion) else Completion(said)

    async def continue_text(self, prompt: str, decoding: Decoding, top: int) -> Continuation:
        """The reply as one token that is certain."""
        text = (await self.generate([Message("user", prompt)], decoding)).text
        return Continuation(text, (Token(text, 0.0),))

    @property
    def prompts(self) -> list[str]:
        """Each call's messages as one text."""
        return ["\n".join(message.content for message in messages) for messages, _ in self.calls]


def _in_turn(replies: Iterable[str | Completion | Exception]) -> Callable[[list[Message]], Any]:
    remaining = iter(replies)

    def reply(_: list[Message]) -> Any:
        text = next(remaining, None)
        assert text is not None, "the model was called once more than its script foresees"
        return text

    return reply


def toolbox_over(
    reader: Any, passages: Iterable[Passage] | None = None, *, question: str = "?", retriever: Any = None
) -> Toolbox:
    """The real toolbox over these components, the passages being the question's own."""
    own = None if passages is None else tuple(passages)
    return toolbox(Question(question, passages=own), retriever=retriever, reader=reader)
