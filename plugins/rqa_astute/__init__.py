"""Astute RAG: what the model knows and what was retrieved, consolidated with an eye on where each is from.

Wang et al., "Astute RAG: Overcoming Imperfect Retrieval Augmentation and Knowledge Conflicts for Large
Language Models", ACL 2025. Algorithm 1; the defaults are those of Section 5.1.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from robust_qa import Answer, Completion, ContextError, CutError, Order, Passage, hookimpl
from robust_qa.kit import fenced, load_prompts, spoken, stated_answer

from . import schemas
from .account import details, explained, listed, rendered
from .deciding import completed, decide
from .parsing import Consolidated, Verdict, parse_consolidation, parse_memory, parse_verdict

if TYPE_CHECKING:
    from robust_qa import Registry, Toolbox

Ask = Callable[..., Awaitable[Completion]]


class Astute:
    """Memory and retrieved passages are consolidated by source, and the most reliable answer is chosen."""

    needs = frozenset({"retrieve", "generate"})

    @dataclass
    class Options:
        # t: rounds of consolidation, the last of which also answers; t + 1 calls
        iterations: Annotated[int, Meta(ge=1)] = 1
        memory_passages: Annotated[int, Meta(ge=1)] = 1  # m̂: passages the model writes from memory, at most
        source_aware: bool = True  # whether the model is told which documents are its own
        order: Order = "descending"  # of the retrieved passages in a prompt, by relevance
        # of the sampling; by default as the reader is configured
        temperature: Annotated[float, Meta(ge=0)] | None = None
        # the longest reply, in tokens; by default as the reader is configured
        max_tokens: Annotated[int, Meta(ge=1)] | None = None
        seed: int | None = None  # of the sampling and of the random order; by default as the reader is configured
        prompts: dict[str, Path] = field(default_factory=dict)  # files to put in place of prompts, by their names

    def __init__(self, options: Options) -> None:
        self.options = options
        self.prompts = load_prompts(Path(__file__).with_name("prompts"), options.prompts)

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Algorithm 1. Abstains when there is nothing to answer from, or nothing reliable in it."""
        import asyncio

        options, ask = self.options, partial(self._ask, question, toolbox)

        # Lines 2 to 4: I, E and D0, whose passages carry their sources S0. I and E do not wait for each other.
        async with asyncio.TaskGroup() as both:
            remembering = both.create_task(ask("memory", schemas.memory(options.memory_passages)))
            retrieving = both.create_task(toolbox.retrieve(question))
        written = remembering.result()
        texts = parse_memory(written.text, options.memory_passages)
        if written.finish == "length" and not texts:
            raise CutError
        internal = [Passage(text, id=f"memory-{n}", origin="memory") for n, text in enumerate(texts, start=1)]
        pool = [*retrieving.result(), *internal]
        toolbox.note(
            f"passages: {len(pool) - len(internal)} retrieved, {len(internal)} written from memory",
            memory=[passage.text for passage in internal],
        )
        if not pool:
            reason = "Nothing was found, and the language model knows no answer by heart."
            return Answer(None, reason=reason, details=details(Verdict(), pool, []))

        # Lines 5 to 8. D1 is D0 itself: the first round has no earlier one to improve on.
        rounds: list[list[Consolidated]] = []
        for number in range(1, options.iterations):
            reply = await ask("consolidate", schemas.consolidation(len(pool)), pool=pool, rounds=rounds)
            if not reply.text:
                toolbox.note(f"round {number}: the reply is empty, and changes nothing")
                continue
            rounds.append(parse_consolidation(reply.text, len(pool)))
            toolbox.note(
                f"round {number}: documents consolidated from {len(pool)} to {len(rounds[-1])}",
                documents=listed(rounds[-1], pool),
            )

        # Lines 9 to 13. The last consolidation and the answer are one call.
        verdict = await self._finalise(ask, toolbox, pool, rounds)
        answer, found = decide(verdict, pool), details(verdict, pool, rounds)
        toolbox.note(explained(answer, verdict), **found)
        return dataclasses.replace(answer, details=found)

    async def _finalise(
        self, ask: Ask, toolbox: Toolbox, pool: Sequence[Passage], rounds: Sequence[Sequence[Consolidated]]
    ) -> Verdict:
        """The verdict. A reply that cannot be used is put into form once, and then taken as plain text.

        CutError when it was cut, and is no use for that.
        """
        schema = schemas.verdict(len(pool))
        try:
            completion = await ask("finalise", schema, pool=pool, rounds=rounds)
        except ContextError:
            if not rounds:
                raise
            toolbox.note("the window does not hold the last consolidation beside the documents; left out")
            completion = await ask("finalise", schema, pool=pool)
        reply = completion.text
        verdict = parse_verdict(reply, len(pool), structured=toolbox.structured)
        if verdict is not None:
            return completed(verdict) if completion.finish == "length" else verdict
        toolbox.note("no groups of documents can be read from the reply; asking for its form once", reply=reply)
        repaired = ""
        if reply:  # out of nothing a repair could only make things up
            with suppress(ContextError, CutError):  # too long a reply to be read, or written, again
                repaired = (await ask("repair", schema, reply=fenced(reply))).text
        verdict = parse_verdict(repaired, len(pool), structured=toolbox.structured)
        if verdict is None:
            if completion.finish == "length":
                raise CutError
            return Verdict(answer=stated_answer(reply) or stated_answer(repaired), degraded=True)
        return dataclasses.replace(verdict, repaired=True)

    async def _ask(
        self,
        question: str,
        toolbox: Toolbox,
        role: str,
        schema: Mapping[str, Any],
        *,
        pool: Sequence[Passage] = (),
        rounds: Sequence[Sequence[Consolidated]] = (),
        **fields: str,
    ) -> Completion:
        """The model's reply, without thoughts, to the prompt of that role about D0 and the last of the rounds.

        CutError when there were thoughts alone.
        """
        options, prompts = self.options, self.prompts
        form = f"{'finalise' if role == 'repair' else role}_{'json' if toolbox.structured else 'text'}"
        count = options.memory_passages
        fields |= {
            "question": fenced(question),
            "limit": "1 passage" if count == 1 else f"{count} passages",
            "sources": prompts["sources"].template if options.source_aware else "",
            "earlier": self._earlier(rounds[-1], pool) if rounds else "",
            "format": prompts[form].template,
        }
        completion = await toolbox.generate(
            prompts[role],
            passages=pool,
            fields=fields,
            order=options.order,
            seed=options.seed,
            source_aware=options.source_aware,
            temperature=options.temperature,
            max_tokens=options.max_tokens,
            schema=schema if toolbox.structured else None,
        )
        return spoken(completion)

    def _earlier(self, consolidated: Sequence[Consolidated], pool: Sequence[Passage]) -> str:
        text = rendered(consolidated, pool, source_aware=self.options.source_aware)
        return self.prompts["earlier"].messages({"consolidated": text})[0].content


@hookimpl
def rqa_register(registry: Registry) -> None:
    registry.strategy("astute", Astute, rank=30, summary="weighs passages against what the model knows, by source")
