"""No RAG: the language model answers from memory, in one call. The baseline for all strategies."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from robust_qa import Answer, CutError, Registry, hookimpl
from rqa_prompts import Prompter, declines, fenced, labelled_answer, prose_preview, says_unknown

if TYPE_CHECKING:
    from robust_qa import Toolbox


class NoRag:
    """The language model answers from memory, or says that it does not know."""

    needs = frozenset({"generate"})

    @dataclass
    class Options:
        abstain: bool = True  # false: do not offer "I don't know"
        # sampling temperature; default: the reader's
        temperature: Annotated[float, Meta(ge=0)] | None = None
        # maximum tokens of a reply; default: the reader's
        max_tokens: Annotated[int, Meta(ge=1)] | None = None
        seed: int | None = None  # sampling seed; default: the reader's
        prompts: dict[str, Path] = field(default_factory=dict)  # files that replace prompts: answer

    def __init__(self, options: Options) -> None:
        self.prompter = Prompter(Path(__file__).with_name("prompts"), options)

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Answer in one call. Abstains if the reply declines or is empty; raises CutError if it was cut."""
        reply = await self.prompter.ask(toolbox, "answer", fields={"question": fenced(question)}, preview=prose_preview)
        stated = labelled_answer(reply.text)
        text = reply.text if stated is None else stated
        if reply.finish == "length":
            raise CutError
        if not reply.text:
            return Answer(None, reason="The language model's reply is empty.")
        if declines(text) or (stated is not None and says_unknown(text)):
            return Answer(None, reason="The language model does not know the answer.")
        return Answer(text)


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.strategy("norag", "rqa_norag:NoRag", rank=10, needs={"generate"}, summary="asks the language model alone")
