"""Standard RAG: retrieve passages, read them, and answer with the sentences that contain the answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from robust_qa import Answer, Order, Position, Registry, hookimpl
from robust_qa.kit import cite_reading
from rqa_prompts import load_prompts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from robust_qa import Passage, Reading, Toolbox


class Rag:
    """The reader answers from the retrieved passages, and cites them."""

    needs = frozenset({"retrieve", "read"})

    @dataclass
    class Options:
        abstain: bool = True  # false: ask a language model for an answer even if the passages do not contain it
        order: Order = "descending"  # order of the passages in a prompt, by relevance
        seed: int | None = None  # for sampling and the random order; default: the reader's
        prompts: dict[str, Path] = field(default_factory=dict)  # files that replace prompts: read

    def __init__(self, options: Options) -> None:
        self.options = options
        self.prompt = load_prompts(overrides=options.prompts)["read"] if options.prompts else None

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Retrieve, then read. Abstains if nothing is found or the reader finds no sure answer.

        With `abstain = false`, a language model is asked even without passages.
        """
        options = self.options
        passages = await toolbox.retrieve(question)
        if not passages and (options.abstain or not toolbox.generative):
            return Answer(None, reason="No passage was found for the question.")
        reading = await toolbox.read(
            question,
            passages,
            prompt=self.prompt,
            order=options.order,
            seed=options.seed,
            abstain=options.abstain,
            final=True,
        )
        if reading.text is None:
            absent = "The passages do not hold an answer." if toolbox.generative else "Not sure of an answer."
            reason = reading.reason or absent
            guess = next((position(rival, passages) for rival in reading.rivals), None)
            return Answer(None, conflicts=positions(reading, passages), reason=reason, best_guess=guess)
        citations = cite_reading(reading, passages)
        return Answer(reading.text, reading.score, citations, positions(reading, passages))


def positions(reading: Reading, passages: Sequence[Passage]) -> tuple[Position, ...]:
    """Return the answer of `reading` and its rivals as the sides of a conflict, nothing if there is only one side."""
    sides = reading.rivals if reading.text is None else (reading, *reading.rivals)
    if len(sides) < 2:
        return ()
    return tuple(position(side, passages, chosen=side is reading) for side in sides)


def position(side: Reading, passages: Sequence[Passage], *, chosen: bool = False) -> Position:
    """Return one side with its sources."""
    return Position(side.text or "", side.score, cite_reading(side, passages), chosen)


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.strategy(
        "rag",
        "rqa_rag:Rag",
        rank=20,
        needs={"retrieve", "read"},
        summary="answers from the retrieved passages, and cites them",
    )
