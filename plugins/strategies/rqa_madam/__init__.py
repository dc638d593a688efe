"""MADAM-RAG: one agent for each document, and an aggregator that tells their valid answers from errors and noise.

Wang et al., "Retrieval-Augmented Generation with Conflicting Evidence", COLM 2025. Several answers can be valid at
once, because documents may be about different things of one name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from robust_qa import Answer, Passage, Registry, RqaError, hookimpl
from robust_qa.kit import PLAIN_TEXT, answer_key, ask_each, warn
from rqa_prompts import Prompter

from .replies import CLAIM, SILENT, Claim, Verdict, parse_claim, parse_verdict, plain_verdict, verdict_form
from .result import as_passage, concluded, summary

if TYPE_CHECKING:
    from robust_qa import Toolbox


class Madam:
    """Lets one agent for each document answer and debate, and gives all answers that an aggregator finds valid."""

    needs = frozenset({"retrieve", "generate"})

    @dataclass
    class Options:
        passages: Annotated[int, Meta(ge=1)] = 10  # maximum passages with an agent, the most relevant ones
        rounds: Annotated[int, Meta(ge=1)] = 3  # maximum rounds in which the agents answer; 1: no debate
        repair: bool = True  # ask once more if the aggregator's reply lacks the requested form
        temperature: Annotated[float, Meta(ge=0)] | None = None  # sampling temperature; default: the reader's
        max_tokens: Annotated[int, Meta(ge=1)] | None = None  # maximum tokens of a reply; default: the reader's
        seed: int | None = None  # for sampling; default: the reader's
        prompts: dict[str, Path] = field(default_factory=dict)  # files that replace prompts, by name

    def __init__(self, options: Options) -> None:
        self.options = options
        self.prompter = Prompter(Path(__file__).with_name("prompts"), options)

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Debate until all agents keep their answers, at most `rounds` rounds. Abstains if no answer is valid."""
        passages = (await toolbox.retrieve(question))[: self.options.passages]
        if not passages:
            return Answer(None, reason="No passage was found for the question.")

        debate, verdict = [await self._speak(toolbox, passages)], Verdict()
        while any(claim.answer for claim in debate[-1]):
            verdict = await self._aggregate(toolbox, passages, debate[-1])
            if len(debate) == self.options.rounds:
                break
            debate.append(await self._revise(toolbox, passages, debate[-1], verdict))
            if _kept(*debate[-2:]):
                break
        return concluded(verdict, passages, debate)

    async def _speak(self, toolbox: Toolbox, passages: Sequence[Passage]) -> list[Claim]:
        """Return each agent's answer from its own document alone. An agent whose call failed has none."""

        async def speak(passage: Passage) -> Claim:
            reply = await self.prompter.ask(toolbox, "answer", [passage], form=CLAIM)
            return parse_claim(reply.text)

        return [SILENT if isinstance(one, RqaError) else one for one in await ask_each(speak, passages)]

    async def _revise(
        self, toolbox: Toolbox, passages: Sequence[Passage], claims: Sequence[Claim], verdict: Verdict
    ) -> list[Claim]:
        """Return each agent's answer after it has read the summary. An agent whose call failed keeps its own."""

        async def revise(agent: int) -> Claim:
            fields = {"own": claims[agent].shown, "summary": summary(verdict)}
            reply = await self.prompter.ask(toolbox, "revise", [passages[agent]], form=CLAIM, fields=fields)
            return parse_claim(reply.text)

        revised = await ask_each(revise, range(len(passages)))
        return [own if isinstance(one, RqaError) else one for own, one in zip(claims, revised, strict=True)]

    async def _aggregate(self, toolbox: Toolbox, passages: Sequence[Passage], claims: Sequence[Claim]) -> Verdict:
        """Return the valid answers. The aggregator reads what the agents said, and not the documents."""
        said = [as_passage(claim, passage) for claim, passage in zip(claims, passages, strict=True)]
        parse = partial(parse_verdict, size=len(said))
        filled = await self.prompter.fill(toolbox, "aggregate", verdict_form(len(said)), parse, said, source_aware=True)
        if filled.value is not None:
            return filled.value
        warn(PLAIN_TEXT)
        return plain_verdict(filled.reply.text)


def _kept(before: Sequence[Claim], after: Sequence[Claim]) -> bool:
    return [answer_key(claim.answer) for claim in before] == [answer_key(claim.answer) for claim in after]


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.strategy(
        "madam",
        "rqa_madam:Madam",
        summary="lets one agent for each passage answer and debate, and keeps the valid answers",
    )
