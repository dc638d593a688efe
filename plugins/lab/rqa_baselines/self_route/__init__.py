"""Self-Route: the model answers from the passages, or from memory if they do not contain the answer. 1 or 2 calls.

Li et al., "Retrieval Augmented Generation or Long-Context LLMs? A Comprehensive Study and Hybrid Approach", EMNLP
2024. There, the second route is the whole document; here it is memory, as in the comparison of the Astute RAG paper.
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
    """Answers from the passages if they contain the answer, and from memory if not."""

    needs = frozenset({"retrieve", "read", "generate"})
    Options = asking.PassageOptions

    def __init__(self, options: asking.PassageOptions) -> None:
        self.agent = asking.Agent(options, __file__, reads=True)

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Answer in 1 call, or in 2 if the passages do not contain the answer. Abstains if both routes fail."""
        passages = await toolbox.retrieve(question)
        if passages:
            reading = await self.agent.read(toolbox, question, passages, abstain=True)  # else memory is never asked
            if reading.text is not None:
                return dataclasses.replace(read(reading, passages), details={"route": "passages"})
            toolbox.note("the passages do not hold an answer; asking memory")
        reply = await self.agent.ask(toolbox, "answer")
        return dataclasses.replace(concluded(reply), details={"route": "memory"})
