"""GenRead: the model reads a passage that it wrote from memory together with the retrieved ones. 2 calls.

Yu et al., "Generate rather than Retrieve: Large Language Models are Strong Context Generators", ICLR 2023; joined
with retrieved passages without consolidation, as in the comparison of the Astute RAG paper (Section 5.1).
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from robust_qa import Answer

from .. import asking
from ..replies import read

if TYPE_CHECKING:
    from robust_qa import Toolbox


class GenRead:
    """Writes a passage from memory, and reads it together with the retrieved ones."""

    needs = frozenset({"retrieve", "read", "generate"})
    Options = asking.PassageOptions

    def __init__(self, options: asking.PassageOptions) -> None:
        self.agent = asking.Agent(options, __file__, reads=True)

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Answer in 2 calls, or abstain after 1 without passages. Abstains if the reader finds no answer."""
        import asyncio

        async with asyncio.TaskGroup() as both:
            writing = both.create_task(self.agent.remember(toolbox))
            retrieving = both.create_task(toolbox.retrieve(question))
        written = writing.result()
        pool = [*retrieving.result(), *written]
        details = {"memory": [passage.text for passage in written]}
        if not pool:
            reason = "Nothing was found, and the language model knows nothing about it by heart."
            return Answer(None, reason=reason, details=details)
        reading = await self.agent.read(toolbox, question, pool)
        return dataclasses.replace(read(reading, pool), details=details)
