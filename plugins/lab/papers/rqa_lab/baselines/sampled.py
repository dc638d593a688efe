"""Baselines that sample several replies to one prompt, and choose among them."""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from typing import TYPE_CHECKING

from robust_qa import Answer, ContextError, CutError

from . import asking
from .replies import find, numbers, voted

if TYPE_CHECKING:
    from robust_qa import Toolbox


class SelfConsistency:
    """Reasons over the passages several times, and takes the majority answer.

    Wang et al., "Self-Consistency Improves Chain of Thought Reasoning in Language Models", ICLR 2023. The majority of
    the normalised answers wins.
    """

    needs = frozenset({"retrieve", "generate"})
    Options = asking.RepeatingOptions

    def __init__(self, options: asking.RepeatingOptions) -> None:
        self.samples = options.samples
        self.agent = asking.Agent(options, "self_consistency")

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Answer in n calls. Abstains if no reply has an answer."""
        passages = await toolbox.retrieve(question)
        replies = await self.agent.sample(toolbox, "answer", self.samples, passages)
        return dataclasses.replace(voted(replies, self.agent.numbered(toolbox, passages)), details={"replies": replies})


class UniversalSelfConsistency:
    """Answers from the passages several times, and picks the reply that agrees best with the others.

    Chen et al., "Universal Self-Consistency for Large Language Model Generation", 2023; over retrieved passages, with
    n = 3 at temperature 0.7, as in the comparison of the Astute RAG paper.
    """

    needs = frozenset({"retrieve", "generate"})
    Options = asking.RepeatingOptions

    def __init__(self, options: asking.RepeatingOptions) -> None:
        self.samples = options.samples
        self.agent = asking.Agent(options, "usc")

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Answer in n + 1 calls. Abstains if no reply has an answer.

        The majority decides if the pick is cut, names no reply with an answer, or the replies exceed the window.
        """
        passages = await toolbox.retrieve(question)
        replies = await self.agent.sample(toolbox, "answer", self.samples, passages)
        picked = tuple[int, ...]()
        with suppress(ContextError, CutError):
            picked = numbers(find(await self.agent.ask(toolbox, "select", replies=replies)).answer, len(replies))
        chosen = picked[0] - 1 if picked else None
        answer = voted(replies, self.agent.numbered(toolbox, passages), chosen=chosen)
        return dataclasses.replace(answer, details={"replies": replies, "picked": picked[0] if picked else None})
