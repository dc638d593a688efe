"""Self-consistency: sample several reasonings over the same passages and let them vote. n calls at once.

Wang et al., "Self-Consistency Improves Chain of Thought Reasoning in Language Models", ICLR 2023. The majority of
the normalised answers wins.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from robust_qa import Answer

from .. import asking
from ..votes import voted

if TYPE_CHECKING:
    from robust_qa import Toolbox


class SelfConsistency:
    """Reasons over the passages several times, and takes the majority answer."""

    needs = frozenset({"retrieve", "generate"})
    Options = asking.RepeatingOptions

    def __init__(self, options: asking.RepeatingOptions) -> None:
        self.samples = options.samples
        self.agent = asking.Agent(options, __file__)

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Answer in n calls. Abstains if no reply has an answer."""
        passages = await toolbox.retrieve(question)
        replies = await self.agent.sample(toolbox, "answer", self.samples, passages)
        return dataclasses.replace(voted(replies, self.agent.numbered(toolbox, passages)), details={"replies": replies})
