"""Universal self-consistency: several replies are sampled, and the model picks the most consistent. n + 1 calls.

Chen et al., "Universal Self-Consistency for Large Language Model Generation", 2023; over retrieved passages and with
n = 3 at temperature 0.7, as the Astute RAG paper compares it (4 calls).
"""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from typing import TYPE_CHECKING

from robust_qa import Answer, ContextError, CutError

from .. import asking
from ..replies import find, numbers
from ..votes import voted

if TYPE_CHECKING:
    from robust_qa import Toolbox


class UniversalSelfConsistency:
    """The model answers from the passages several times, and picks the reply that agrees best with all."""

    needs = frozenset({"retrieve", "generate"})
    Options = asking.RepeatingOptions

    def __init__(self, options: asking.RepeatingOptions) -> None:
        self.samples = options.samples
        self.agent = asking.Agent(options, __file__)

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """n + 1 calls. Where the pick is cut, or names no reply with an answer, or the window holds not all replies,
        the majority decides. Abstains when no reply has an answer.
        """
        passages = await toolbox.retrieve(question)
        replies = await self.agent.sample(toolbox, "answer", self.samples, passages)
        picked = tuple[int, ...]()
        with suppress(ContextError, CutError):
            picked = numbers(find(await self.agent.ask(toolbox, "select", replies=replies)).answer, len(replies))
        chosen = picked[0] - 1 if picked else None
        answer = voted(replies, self.agent.numbered(toolbox, passages), chosen=chosen)
        return dataclasses.replace(answer, details={"replies": replies, "picked": picked[0] if picked else None})
