"""Chain of thought: the model reasons step by step from memory, then answers. 1 call.

Wei et al., "Chain-of-Thought Prompting Elicits Reasoning in Large Language Models", NeurIPS 2022; without examples,
as in Kojima et al., "Large Language Models are Zero-Shot Reasoners", NeurIPS 2022.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from robust_qa import Answer

from .. import asking
from ..replies import concluded

if TYPE_CHECKING:
    from robust_qa import Toolbox


class ChainOfThought:
    """Reasons step by step from memory, then answers."""

    needs = frozenset({"generate"})
    Options = asking.Options

    def __init__(self, options: asking.Options) -> None:
        self.agent = asking.Agent(options, __file__)

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Answer in 1 call. Abstains if the reasoning leads to no answer."""
        reply = await self.agent.ask(toolbox, "answer")
        return dataclasses.replace(concluded(reply), details={"thought": reply})
