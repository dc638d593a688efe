"""Self-Route: the model answers from the passages or says that they do not hold the answer; then from memory.

1 to 2 calls. Li et al., "Retrieval Augmented Generation or Long-Context LLMs? A Comprehensive Study and Hybrid
Approach", EMNLP 2024. There the second route is the whole document; here it is memory, as the Astute RAG paper
compares it.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from robust_qa import Answer

from .. import asking
from ..replies import concluded, read

if TYPE_CHECKING:
    from robust_qa import Toolbox


class SelfRoute:
    """The model answers from the passages where they hold the answer, and from memory where they do not."""

    needs = frozenset({"retrieve", "read", "generate"})
    Options = asking.PassageOptions

    def __init__(self, options: asking.PassageOptions) -> None:
        self.agent = asking.Agent(options, __file__, reads=True)

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """1 call, or 2 when the passages do not hold the answer; 1 without passages. Abstains when neither does."""
        passages = await toolbox.retrieve(question)
        if passages:
            reading = await self.agent.read(toolbox, question, passages, abstain=True)  # else it never routes
            if reading.text is not None:
                return dataclasses.replace(read(reading, passages), details={"route": "passages"})
            toolbox.note("the passages do not hold an answer; asking memory")
        reply = await self.agent.ask(toolbox, "answer")
        return dataclasses.replace(concluded(reply), details={"route": "memory"})
