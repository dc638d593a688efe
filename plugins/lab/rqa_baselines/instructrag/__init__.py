"""InstructRAG: the model explains which passages help and how the answer follows, then answers. 1 call.

Wei, Chen and Meng, "InstructRAG: Instructing Retrieval-Augmented Generation via Self-Synthesized Rationales", ICLR
2025; zero-shot, without training or examples, as in the comparison of the Astute RAG paper.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from robust_qa import Answer

from .. import asking
from ..replies import concluded

if TYPE_CHECKING:
    from robust_qa import Toolbox


class InstructRag:
    """Explains how the answer follows from the passages that help, then answers."""

    needs = frozenset({"retrieve", "generate"})
    Options = asking.PassageOptions

    def __init__(self, options: asking.PassageOptions) -> None:
        self.agent = asking.Agent(options, __file__)

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Answer in 1 call. Abstains if the rationale leads to no answer."""
        passages = await toolbox.retrieve(question)
        reply = await self.agent.ask(toolbox, "answer", passages)
        return dataclasses.replace(
            concluded(reply, self.agent.numbered(toolbox, passages)), details={"rationale": reply}
        )
