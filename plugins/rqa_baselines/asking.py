"""How the baselines put their prompts to the model, and what all of them can be told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from robust_qa import CutError, Order, Passage, Reading
from robust_qa.kit import Prompt, Prompter, ask_each, declines, fenced, load_prompts

if TYPE_CHECKING:
    from robust_qa import Toolbox


_MARK = "<<<ANSWER>>>"


@dataclass
class Options:
    """Of a strategy that writes."""

    prompts: dict[str, Path] = field(default_factory=dict)  # files to put in place of prompts, by their names


@dataclass
class PassageOptions(Options):
    """Of a strategy that shows passages to the model."""

    order: Order = "descending"  # of the passages in a prompt, by relevance
    seed: int | None = None  # of the sampling and of the random order; by default as the reader is configured


@dataclass
class SamplingOptions(PassageOptions):
    """Of a strategy that samples replies."""

    temperature: Annotated[float, Meta(ge=0)] = 0.7  # of the sampling
    seed: int = 0  # of the first sample, each further one has the next; and of the random order


@dataclass
class RepeatingOptions(SamplingOptions):
    """Of a strategy that samples a number of replies to one prompt."""

    samples: Annotated[int, Meta(ge=1)] = 3  # n: replies that are sampled, each a call


class Agent:
    """Asks the model with the prompts beside one strategy's module, `home`.

    With `reads`, the host's reading prompt is one of the prompts that `options` may replace.
    """

    def __init__(self, options: Options, home: str, *, reads: bool = False) -> None:
        self.order: Order = getattr(options, "order", "descending")
        self.seed: int | None = getattr(options, "seed", None)
        self.temperature: float | None = getattr(options, "temperature", None)
        self.reading: Prompt | None = None
        if reads:
            self.reading = load_prompts(overrides={k: v for k, v in options.prompts.items() if k == "read"})["read"]
            options = replace(options, prompts={k: v for k, v in options.prompts.items() if k != "read"})
        self._prompter = Prompter(Path(home).with_name("prompts"), options)
        self.prompts = self._prompter.prompts

    async def ask(
        self,
        toolbox: Toolbox,
        role: str,
        passages: Sequence[Passage] = (),
        *,
        sample: int | None = None,
        replies: Sequence[str] = (),
        **fields: str,
    ) -> str:
        """The reply to the prompt of that role, without reasoning. `fields` are fenced.

        `replies` fill the field of that name, numbered from 1. `sample` numbers replies to the same prompt, drawn at
        the strategy's temperature. Raises CutError if the reply was cut before the answer that it should mark.
        """
        shown = (f'<document reply="{number}">\n{fenced(text)}\n</document>' for number, text in enumerate(replies, 1))
        completion = await self._prompter.ask(
            toolbox,
            role,
            passages,
            fields={"replies": "\n".join(shown), **{name: fenced(text) for name, text in fields.items()}},
            sample=sample or 0,
            temperature=self.temperature if sample is not None else None,
        )
        # Before the mark the model thinks aloud, and the last line of that is no answer.
        unmarked = _MARK in self.prompts[role].template and _MARK not in completion.text
        if completion.finish == "length" and unmarked:
            raise CutError
        return completion.text

    async def sample(self, toolbox: Toolbox, role: str, count: int, passages: Sequence[Passage]) -> list[str]:
        """`count` replies to the prompt of that role, as `at_once`."""
        return await at_once(lambda number: self.ask(toolbox, role, passages, sample=number), range(count))

    async def remember(self, toolbox: Toolbox) -> list[Passage]:
        """The passage that the model writes to the prompt `memory`; none when it declines."""
        text = await self.ask(toolbox, "memory")
        return [] if declines(text) else [Passage(text, id="memory-1", origin="memory")]

    async def read(self, toolbox: Toolbox, question: str, passages: Sequence[Passage]) -> Reading:
        """The answer of the strategy in `passages`, read as the strategy rag reads them."""
        return await toolbox.read(question, passages, prompt=self.reading, order=self.order, seed=self.seed, final=True)


async def at_once(ask: Callable[[Any], Awaitable[str]], asked: Iterable[Any]) -> list[str]:
    """What `ask` replies to each of `asked`, all at once; "" where something is wrong with that one (`each_alone`)."""
    return [found if isinstance(found, str) else "" for found in await ask_each(ask, asked)]
