"""Context filtering: the model picks the passages that help and reads only those. 2 or 3 calls.

From "Astute RAG: Overcoming Imperfect Retrieval Augmentation and Knowledge Conflicts for Large Language Models", ACL
2025, Appendix D, Table 5: with the retrieved passages alone, or also with one that the model writes from memory.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from robust_qa import Answer

from . import asking
from .replies import documents_line, numbers, read

if TYPE_CHECKING:
    from robust_qa import Toolbox

_NONE = re.compile(r"\W*none\b", re.I)


class ContextFiltering:
    """Picks the passages that help, and reads only those."""

    needs = frozenset({"retrieve", "read", "generate"})

    @dataclass
    class Options(asking.PassageOptions):
        strict: bool = False  # also leave out passages that look plainly wrong
        generated: bool = False  # add a passage that the model writes from memory

    def __init__(self, options: Options) -> None:
        self.generated = options.generated
        self.wrong = ", and those that are plainly wrong" if options.strict else ""
        self.agent = asking.Agent(options, "context_filtering", reads=True)

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Answer in 2 calls, or 3 with a generated passage; fewer if no passage is left.

        A reply that names no document, and does not say that none helps, filters nothing. Abstains if no passage is
        left or the reader finds no answer; with `abstain = false`, the reader answers without passages.
        """
        import asyncio

        async with asyncio.TaskGroup() as both:
            retrieving = both.create_task(toolbox.retrieve(question))
            writing = both.create_task(self.agent.remember(toolbox)) if self.generated else None
        pool = [*retrieving.result(), *(writing.result() if writing else [])]
        if not pool and self.agent.abstain:
            return Answer(None, reason="No passage was found for the question.", details={"kept": []})
        reply = await self.agent.ask(toolbox, "filter", pool, wrong=self.wrong) if pool else "none"
        named = documents_line(reply) or reply
        numbered = self.agent.numbered(toolbox, pool)
        kept = numbers(named, len(pool))
        if not kept and not _NONE.match(named):
            toolbox.note("the reply names no documents; all of them are read", reply=reply)
            kept = tuple(range(1, len(pool) + 1))
        if not kept and self.agent.abstain:
            return Answer(None, reason="None of the passages helps to answer the question.", details={"kept": []})
        chosen = [numbered[number - 1] for number in kept]
        left = [passage for passage in pool if passage in chosen]  # in order of relevance
        reading = await self.agent.read(toolbox, question, left)
        return dataclasses.replace(read(reading, left), details={"kept": sorted(kept)})
