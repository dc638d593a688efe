"""Answer refinement: the model answers from memory, then reconsiders the answer with the passages. 2 calls.

From "Astute RAG: Overcoming Imperfect Retrieval Augmentation and Knowledge Conflicts for Large Language Models", ACL
2025, Appendix C, after Madaan et al., "Self-Refine: Iterative Refinement with Self-Feedback", NeurIPS 2023.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from robust_qa import Answer, Position
from robust_qa.kit import contains_words

from .. import asking
from ..replies import concluded, find

if TYPE_CHECKING:
    from robust_qa import Toolbox


class AnswerRefinement:
    """Answers from memory, then reconsiders the answer with the passages."""

    needs = frozenset({"retrieve", "generate"})
    Options = asking.PassageOptions

    def __init__(self, options: asking.PassageOptions) -> None:
        self.agent = asking.Agent(options, __file__)

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Answer in 2 calls. An abandoned first answer is a conflict. Abstains if the last reply does."""
        import asyncio

        async with asyncio.TaskGroup() as both:
            answering = both.create_task(self.agent.ask(toolbox, "answer"))
            retrieving = both.create_task(toolbox.retrieve(question))
        before, passages = find(answering.result()).answer, retrieving.result()
        reply = await self.agent.ask(toolbox, "refine", passages, before=before or "I don't know")
        refined = dataclasses.replace(
            concluded(reply, self.agent.numbered(toolbox, passages)),
            details={"before": before or None, "reasoning": reply},
        )
        if not before or refined.text is None:
            return refined
        if contains_words(before, refined.text) or contains_words(
            refined.text, before
        ):  # the same answer in other words
            return refined
        after = Position(refined.text, citations=refined.citations, chosen=True)
        return dataclasses.replace(refined, conflicts=(after, Position(before)))
