"""No RAG: the language model answers from memory, in one call. The baseline every strategy is held against."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from robust_qa import Answer, CutError, hookimpl
from robust_qa.kit import Prompter, declines, fenced, prose_preview

if TYPE_CHECKING:
    from robust_qa import Registry, Toolbox


class NoRag:
    """The language model answers from memory, or says that it does not know."""

    needs = frozenset({"generate"})

    @dataclass
    class Options:
        # of the sampling; by default as the reader is configured
        temperature: Annotated[float, Meta(ge=0)] | None = None
        # the longest reply, in tokens; by default as the reader is configured
        max_tokens: Annotated[int, Meta(ge=1)] | None = None
        seed: int | None = None  # of the sampling; by default as the reader is configured
        prompts: dict[str, Path] = field(default_factory=dict)  # files to put in place of prompts: answer

    def __init__(self, options: Options) -> None:
        self.prompter = Prompter(Path(__file__).with_name("prompts"), options)

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """One call; abstains when the reply declines or is empty. CutError when it was cut: no answer is that long."""
        reply = await self.prompter.ask(toolbox, "answer", fields={"question": fenced(question)}, preview=prose_preview)
        text = reply.text
        if reply.finish == "length":
            raise CutError
        if not text:
            return Answer(None, reason="The language model's reply is empty.")
        if declines(text):
            return Answer(None, reason="The language model does not know the answer.")
        return Answer(text)


@hookimpl
def rqa_register(registry: Registry) -> None:
    registry.strategy("norag", NoRag, rank=10, summary="asks the language model alone")
