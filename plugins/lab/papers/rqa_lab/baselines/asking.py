"""How the baselines ask the model, and the options that they share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from robust_qa import CutError, Order, Passage, Reading
from robust_qa.kit import PLAIN_TEXT, Prompt, ask_each, warn
from rqa_prompts import (
    UNKNOWN,
    Prompter,
    between,
    declines,
    fenced,
    final_answer,
    is_cut,
    labelled_answer,
    load_prompts,
    says_unknown,
)

if TYPE_CHECKING:
    from robust_qa import Toolbox


_MARK = "<<<ANSWER>>>"


@dataclass
class Options:
    """Options of a strategy that generates."""

    abstain: bool = True  # false: do not offer "I don't know" as the answer
    prompts: dict[str, Path] = field(default_factory=dict)  # files that replace prompts, by name


@dataclass
class PassageOptions(Options):
    """Options of a strategy that shows passages to the model."""

    order: Order = "descending"  # order of the passages in a prompt, by relevance
    seed: int | None = None  # for sampling and the random order; default: the reader's


@dataclass
class SamplingOptions(PassageOptions):
    """Options of a strategy that samples replies."""

    temperature: Annotated[float, Meta(ge=0)] = 0.7  # sampling temperature
    seed: int = 0  # for the first sample (further ones use the next seeds) and the random order


@dataclass
class RepeatingOptions(SamplingOptions):
    """Options of a strategy that samples several replies to one prompt."""

    samples: Annotated[int, Meta(ge=1)] = 3  # n: replies to sample, each a call


class Agent:
    """Asks the model with the prompts of the baseline `name`, which stand in prompts/NAME.

    With `reads`, `options` may also replace the host's prompt for reading.
    """

    def __init__(self, options: Options, name: str, *, reads: bool = False) -> None:
        self.order: Order = getattr(options, "order", "descending")
        self.seed: int | None = getattr(options, "seed", None)
        self.abstain = options.abstain
        self.temperature: float | None = getattr(options, "temperature", None)
        self.reading: Prompt | None = None
        if reads:
            self.reading = load_prompts(overrides={k: v for k, v in options.prompts.items() if k == "read"})["read"]
            options = replace(options, prompts={k: v for k, v in options.prompts.items() if k != "read"})
        self._prompter = Prompter(Path(__file__).with_name("prompts") / name, options)
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
        """Return the reply to the prompt `role`, without reasoning. `fields` are fenced.

        `replies` fill the field of that name, numbered from 1. `sample` numbers the replies to one prompt, sampled at
        the strategy's temperature. Raises CutError if the reply was cut before its marked answer.
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
        # Without the mark, the last line may be reasoning instead of an answer.
        unmarked = _MARK in self.prompts[role].template and not between(completion.text, "ANSWER")
        if (_MARK in self.prompts[role].template and is_cut(completion)) or (
            completion.finish == "length" and unmarked
        ):
            raise CutError
        if unmarked and labelled_answer(completion.text) is None and not says_unknown(final_answer(completion.text)):
            warn(PLAIN_TEXT)
        return completion.text

    def numbered(self, toolbox: Toolbox, passages: Sequence[Passage]) -> list[Passage]:
        """Return `passages` in the order of their numbers in prompts."""
        return self._prompter.numbered(toolbox, passages)

    async def sample(self, toolbox: Toolbox, role: str, count: int, passages: Sequence[Passage]) -> list[str]:
        """Return `count` replies to the prompt `role`, as `at_once` does."""
        return await at_once(lambda number: self.ask(toolbox, role, passages, sample=number), range(count))

    async def remember(self, toolbox: Toolbox) -> list[Passage]:
        """Return a passage that the model writes for the prompt `memory`, or nothing if it declines."""
        text = await self.ask(toolbox, "memory")
        return [] if declines(text) else [Passage(text, id="memory-1", origin="memory")]

    async def read(
        self, toolbox: Toolbox, question: str, passages: Sequence[Passage], *, abstain: bool | None = None
    ) -> Reading:
        """Return the reader's Reading of `passages`, as for the strategy rag. It is the strategy's answer."""
        abstain = self.abstain if abstain is None else abstain
        return await toolbox.read(
            question,
            passages,
            prompt=self.reading,
            order=self.order,
            seed=self.seed,
            abstain=abstain,
            final=True,
        )


def as_text(prompt: Prompt, question: str, passages: Sequence[Passage], *, abstain: bool = True) -> str:
    """Return a prompt to continue, with the passages numbered and fenced. It ends with the last word of the prompt."""
    parts = (f"{passage.title}\n{passage.text}".strip() for passage in passages)
    shown = (f'<document number="{number}">\n{fenced(text)}\n</document>' for number, text in enumerate(parts, 1))
    unknown = f"Only if nothing leads to an answer, the answer is this one word: {UNKNOWN}" if abstain else ""
    fields = {"passages": "\n".join(shown), "question": fenced(question), "abstain": unknown}
    return "\n\n".join(message.content for message in prompt.messages(fields)).rstrip()


async def at_once(ask: Callable[[Any], Awaitable[str]], asked: Iterable[Any]) -> list[str]:
    """Return the reply of `ask` to each of `asked`, from concurrent calls; "" for a failed call (`ask_each`)."""
    return [found if isinstance(found, str) else "" for found in await ask_each(ask, asked)]
