"""No RAG: the language model answers from memory, in one call. The baseline every strategy is held against."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from robust_qa import Answer, CutError, declines, fenced, hookimpl, load_prompts, spoken

if TYPE_CHECKING:
    from robust_qa import Registry, Toolbox


class NoRag:
    """The language model answers from memory, or says that it does not know."""

    needs = frozenset({"generate"})

    @dataclass
    class Options:
        temperature: float | None = None  # of the sampling; by default as the reader is configured
        max_tokens: int | None = None  # the longest reply, in tokens; by default as the reader is configured
        seed: int | None = None  # of the sampling; by default as the reader is configured
        prompts: dict[str, Path] = field(default_factory=dict)  # files to put in place of prompts: answer

        def __post_init__(self) -> None:
            if self.temperature is not None and self.temperature < 0:
                raise ValueError(f"needs `temperature` to be 0 or more, and it is {self.temperature}")
            if self.max_tokens is not None and self.max_tokens < 1:
                raise ValueError(f"needs `max_tokens` to be 1 or more, and it is {self.max_tokens}")

    def __init__(self, options: Options) -> None:
        self.options = options
        self.prompt = load_prompts(Path(__file__).with_name("prompts"), options.prompts)["answer"]

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """One call; abstains when the reply declines or is empty. CutError when it was cut: no answer is that long."""
        options = self.options
        reply = await toolbox.generate(
            self.prompt,
            fields={"question": fenced(question)},
            temperature=options.temperature,
            max_tokens=options.max_tokens,
            seed=options.seed,
        )
        text = spoken(reply).text
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
