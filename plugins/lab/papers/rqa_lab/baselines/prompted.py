"""Baselines that are a prompt: the model reasons in the way that the prompt asks for, then answers."""

from __future__ import annotations

import asyncio
import dataclasses
import re
from typing import TYPE_CHECKING, Any, ClassVar

from robust_qa import Answer

from . import asking
from .replies import concluded, find, reconsidered

if TYPE_CHECKING:
    from robust_qa import Passage, Toolbox

_NOTE = re.compile(r"^[^\w\n]*+note[^\w\n]++(\d{1,4})[^\w\n:：]*+[:：][\s*_]*+(.*\w.*)$", re.I | re.M)


class OnePrompt:
    """One call with the prompt `name`/answer, over passages if the baseline needs them. A declining reply abstains."""

    name: ClassVar[str]
    needs: ClassVar[frozenset[str]] = frozenset({"retrieve", "generate"})
    Options: ClassVar[type[asking.Options]] = asking.PassageOptions

    def __init__(self, options: asking.Options) -> None:
        self.agent = asking.Agent(options, self.name)

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Answer in 1 call."""
        passages = await toolbox.retrieve(question) if "retrieve" in self.needs else []
        reply = await self.agent.ask(toolbox, "answer", passages)
        answer = concluded(reply, self.agent.numbered(toolbox, passages))
        return dataclasses.replace(answer, details=self.details(reply, passages))

    def details(self, reply: str, passages: list[Passage]) -> dict[str, Any]:
        """Return what the reply holds besides the answer."""
        return {"reasoning": reply}


class ChainOfThought(OnePrompt):
    """Reasons step by step from memory, then answers.

    Wei et al., "Chain-of-Thought Prompting Elicits Reasoning in Large Language Models", NeurIPS 2022; without examples,
    as in Kojima et al., "Large Language Models are Zero-Shot Reasoners", NeurIPS 2022.
    """

    name = "cot"
    needs = frozenset({"generate"})
    Options = asking.Options


class InstructRag(OnePrompt):
    """Explains how the answer follows from the passages that help, then answers.

    Wei, Chen and Meng, "InstructRAG: Instructing Retrieval-Augmented Generation via Self-Synthesized Rationales", ICLR
    2025; zero-shot, without training or examples, as in the comparison of the Astute RAG paper.
    """

    name = "instructrag"


class ChainOfNote(OnePrompt):
    """Writes a note on the relevance of each passage, then answers from notes or memory, or declines.

    Yu et al., "Chain-of-Note: Enhancing Robustness in Retrieval-Augmented Language Models", EMNLP 2024; zero-shot.
    """

    name = "chain_of_note"

    def details(self, reply: str, passages: list[Passage]) -> dict[str, Any]:
        """Return the note on each passage by its number."""
        notes = {int(number): note.strip() for number, note in _NOTE.findall(reply)}
        return {"notes": {str(n): note for n, note in notes.items() if 1 <= n <= len(passages)}}


class AnswerRefinement(OnePrompt):
    """Answers from memory, then reconsiders the answer with the passages.

    From "Astute RAG: Overcoming Imperfect Retrieval Augmentation and Knowledge Conflicts for Large Language Models",
    ACL 2025, Appendix C, after Madaan et al., "Self-Refine: Iterative Refinement with Self-Feedback", NeurIPS 2023.
    """

    name = "answer_refinement"

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Answer in 2 calls. An abandoned first answer is a conflict. Abstains if the last reply does."""
        async with asyncio.TaskGroup() as both:
            answering = both.create_task(self.agent.ask(toolbox, "answer"))
            retrieving = both.create_task(toolbox.retrieve(question))
        before, passages = find(answering.result()).answer, retrieving.result()
        reply = await self.agent.ask(toolbox, "refine", passages, before=before or "I don't know")
        refined = concluded(reply, self.agent.numbered(toolbox, passages))
        details = {"before": before or None, "reasoning": reply}
        return dataclasses.replace(reconsidered(refined, before), details=details)
