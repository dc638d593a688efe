"""Astute RAG: consolidate the model's knowledge and the retrieved passages by source, then answer.

Wang et al., "Astute RAG: Overcoming Imperfect Retrieval Augmentation and Knowledge Conflicts for Large Language
Models", ACL 2025. Implements Algorithm 1 with the defaults of Section 5.1.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from robust_qa import Answer, ContextError, CutError, Order, Passage, Registry, hookimpl
from robust_qa.kit import PLAIN_TEXT, warn
from rqa_prompts import Filled, Prompter, Prompts, final_answer, json_preview, says_unknown

from .account import details, explained, listed, rendered
from .deciding import completed, decide
from .parsing import (
    Consolidated,
    Verdict,
    consolidation_form,
    memory_form,
    parse_consolidation,
    parse_memory,
    parse_verdict,
    verdict_form,
)

if TYPE_CHECKING:
    from robust_qa import Toolbox


class Astute:
    """Consolidates memory and retrieved passages by source, then chooses the most reliable answer."""

    needs = frozenset({"retrieve", "generate"})

    @dataclass
    class Options:
        # t: rounds of consolidation; the last one also answers, so there are t + 1 calls
        iterations: Annotated[int, Meta(ge=1)] = 1
        memory_passages: Annotated[int, Meta(ge=1)] = 1  # m̂: maximum passages that the model writes from memory
        repair: bool = True  # ask once more if the last reply lacks the requested form
        abstain: bool = True  # offer "I don't know" as the final answer; false: always ask for one, as in the paper
        source_aware: bool = True  # tell the model which documents are its own
        order: Order = "descending"  # order of the retrieved passages in a prompt, by relevance
        temperature: Annotated[float, Meta(ge=0)] | None = None  # sampling temperature; default: the reader's
        max_tokens: Annotated[int, Meta(ge=1)] | None = None  # maximum tokens of a reply; default: the reader's
        seed: int | None = None  # for sampling and the random order; default: the reader's
        prompts: Prompts = field(
            default_factory=dict
        )  # files that replace prompts, by name; or paper: as in Appendix A

    def __init__(self, options: Options) -> None:
        self.options = options
        self.prompter = Prompter(Path(__file__).with_name("prompts"), options)

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Answer with Algorithm 1. Abstains without passages or without a reliable answer in them."""
        import asyncio

        # Lines 2 to 4: I, E and D0, whose passages have their sources S0. I and E run concurrently.
        async with asyncio.TaskGroup() as both:
            remembering = both.create_task(self._remember(toolbox))
            retrieving = both.create_task(toolbox.retrieve(question))
        internal, external = remembering.result(), retrieving.result()
        pool = [*external, *internal]
        toolbox.note(
            f"passages: {len(external)} retrieved, {len(internal)} written from memory",
            memory=[passage.text for passage in internal],
        )
        numbered = self.prompter.numbered(toolbox, pool)
        if not pool:
            reason = "Nothing was found, and the language model does not know the answer."
            return Answer(None, reason=reason, details=details(Verdict(), pool, []))

        # Lines 5 to 8. D1 is D0, because the first round has no earlier one to improve on.
        rounds: list[list[Consolidated]] = []
        for number in range(1, self.options.iterations):
            consolidated = await self._consolidate(toolbox, pool, rounds)
            if consolidated is None:
                toolbox.note(f"round {number}: the reply cannot be used and changes nothing")
                continue
            rounds.append(consolidated)
            toolbox.note(
                f"round {number}: documents consolidated from {len(pool)} to {len(consolidated)}",
                documents=listed(consolidated, numbered),
            )

        # Lines 9 to 13. The last consolidation and the answer are one call.
        verdict = await self._finalise(toolbox, pool, rounds)
        answer, found = decide(verdict, numbered), details(verdict, numbered, rounds)
        toolbox.note(explained(answer, verdict), **found)
        return dataclasses.replace(answer, details=found)

    async def _remember(self, toolbox: Toolbox) -> list[Passage]:
        """Return I, passages from the model's memory. Raises CutError if the first one was cut."""
        most = self.options.memory_passages
        limit = {"limit": "1 passage" if most == 1 else f"{most} passages"}
        reply = await self.prompter.ask(toolbox, "memory", form=memory_form(most), fields=limit)
        texts = parse_memory(reply.text, most)
        if reply.finish == "length" and not texts:
            raise CutError
        return [Passage(text, id=f"memory-{n}", origin="memory") for n, text in enumerate(texts, start=1)]

    async def _consolidate(
        self, toolbox: Toolbox, pool: Sequence[Passage], rounds: Sequence[Sequence[Consolidated]]
    ) -> list[Consolidated] | None:
        """Return D_j, made from D0 and the last round, or None if the reply cannot be used."""
        form = consolidation_form(len(pool))
        fields = self._fields(toolbox, pool, rounds)
        reply = await self.prompter.ask(
            toolbox, "consolidate", pool, form=form, fields=fields, source_aware=self.options.source_aware
        )
        return parse_consolidation(reply.text, len(pool))

    async def _finalise(
        self, toolbox: Toolbox, pool: Sequence[Passage], rounds: Sequence[Sequence[Consolidated]]
    ) -> Verdict:
        """Return the verdict. A reply without groups or a marked answer, even after a repair, is a plain answer.

        Raises CutError if such a reply was cut.
        """
        try:
            filled = await self._judge(toolbox, pool, rounds)
        except ContextError:
            if not rounds:
                raise
            toolbox.note("the window does not hold the last consolidation beside the documents; left out")
            filled = await self._judge(toolbox, pool, [])
        verdict, cut = filled.value, filled.reply.finish == "length"
        if verdict is None and cut:
            raise CutError
        if verdict is None:
            answer = final_answer(filled.reply.text) or final_answer(filled.repaired)
            if not says_unknown(answer):
                warn(PLAIN_TEXT)
            return Verdict(answer=answer, degraded=True)
        if filled.repaired:
            return dataclasses.replace(verdict, repaired=True)
        return completed(verdict) if cut else verdict

    async def _judge(
        self, toolbox: Toolbox, pool: Sequence[Passage], rounds: Sequence[Sequence[Consolidated]]
    ) -> Filled[Verdict]:
        parse = partial(parse_verdict, size=len(pool), structured=toolbox.structured)
        return await self.prompter.fill(
            toolbox,
            "finalise",
            verdict_form(len(pool), abstain=self.options.abstain),
            parse,
            pool,
            fields=self._fields(toolbox, pool, rounds),
            source_aware=self.options.source_aware,
            preview=json_preview if toolbox.structured else None,
        )

    def _fields(
        self, toolbox: Toolbox, pool: Sequence[Passage], rounds: Sequence[Sequence[Consolidated]]
    ) -> dict[str, str]:
        aware = self.options.source_aware
        earlier = ""
        if rounds:
            numbered = self.prompter.numbered(toolbox, pool)
            earlier = self.prompter.text("earlier", consolidated=rendered(rounds[-1], numbered, source_aware=aware))
        return {"sources": self.prompter.text("sources") if aware else "", "earlier": earlier}


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.strategy(
        "astute",
        "rqa_astute:Astute",
        rank=30,
        needs={"retrieve", "generate"},
        summary="weighs passages against what the model knows, by source",
    )
