"""Baselines that read passages, and ask the model's memory beside them or in their place."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING

from robust_qa import Answer

from . import asking
from .replies import concluded, read

if TYPE_CHECKING:
    from robust_qa import Toolbox


class GenRead:
    """Writes a passage from memory, and reads it together with the retrieved ones.

    Yu et al., "Generate rather than Retrieve: Large Language Models are Strong Context Generators", ICLR 2023; joined
    with retrieved passages without consolidation, as in the comparison of the Astute RAG paper (Section 5.1).
    """

    needs = frozenset({"retrieve", "read", "generate"})
    Options = asking.PassageOptions

    def __init__(self, options: asking.PassageOptions) -> None:
        self.agent = asking.Agent(options, "genread", reads=True)

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Answer in 2 calls, or abstain after 1 without passages. Abstains if the reader finds no answer."""
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


class SelfRoute:
    """Answers from the passages if they contain the answer, and from memory if not.

    Li et al., "Retrieval Augmented Generation or Long-Context LLMs? A Comprehensive Study and Hybrid Approach", EMNLP
    2024. There, the second route is the whole document; here it is memory, as in the comparison of the Astute RAG
    paper.
    """

    needs = frozenset({"retrieve", "read", "generate"})
    Options = asking.PassageOptions

    def __init__(self, options: asking.PassageOptions) -> None:
        self.agent = asking.Agent(options, "self_route", reads=True)

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
