"""ActiveRAG: three agents reason from memory, learn from passages, and correct the reasoning.

Xu et al., "ActiveRAG: Autonomously Knowledge Assimilation and Accommodation through Retrieval-Augmented Agents",
2024. Implements Section 3 with the defaults of Tables 2 and 3.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta

from robust_qa import Answer, ContextError, CutError, Order, Passage, Registry, hookimpl
from robust_qa.kit import PLAIN_TEXT, warn
from rqa_prompts import ANSWER, NOTE, TEXT, Form, Prompter, Prompts, fenced, list_of, numbers_of, object_of

from .account import Lesson, answered, details, explained, remembered
from .parsing import Revision, Thought, parse_revision, parse_thought

if TYPE_CHECKING:
    from robust_qa import Toolbox

_MOST_CORRECTIONS = 5
_STEP = {"type": "string", "maxLength": 200}  # a sentence

Instruction = Literal["anchoring", "association", "reasoning", "reflection"]


class ActiveRag:
    """Reasons from memory, learns from the passages, and corrects the reasoning with what it learned."""

    needs = frozenset({"retrieve", "generate"})

    @dataclass
    class Options:
        # I: ways to learn from the passages; with several, the majority answer wins
        instructions: list[Instruction] = field(default_factory=lambda: ["association"])
        assimilation: bool = True  # false: use the passages instead of the knowledge learned from them
        abstain: bool = True  # offer "I don't know" as the answer; false: always ask for an answer, as in the paper
        accommodation: bool = True  # false: leave out the reasoning from memory
        order: Order = "descending"  # order of the passages in a prompt, by relevance
        temperature: Annotated[float, Meta(ge=0)] = 0.2  # sampling temperature
        # maximum tokens of a reply; default: the reader's
        max_tokens: Annotated[int, Meta(ge=1)] | None = None
        seed: int = 0  # for sampling and the random order
        prompts: Prompts = field(default_factory=dict)  # files that replace prompts, by name; or paper: as in its code

        def __post_init__(self) -> None:
            if not self.instructions or len(set(self.instructions)) < len(self.instructions):
                raise ValueError("needs `instructions` to be one or more, each once")
            if not (self.assimilation or self.accommodation):
                raise ValueError("has neither `assimilation` nor `accommodation`; that would be the strategy rag")

    def __init__(self, options: Options) -> None:
        self.options = options
        self.prompter = Prompter(Path(__file__).with_name("prompts"), options)

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Answer with Equations 2 to 4: 1 + 2n calls for n instructions, in two rounds.

        1 + n calls without assimilation, 2n without accommodation. Without passages, the answer is from memory (1 call;
        none without accommodation). Abstains if no agent finds an answer.
        """
        import asyncio

        options = self.options
        # Equations 2 and 3. P = Agent_Q(q) and T = Agent_KA(I, q, D) are independent.
        async with asyncio.TaskGroup() as first:
            inquiring = first.create_task(self._inquire(toolbox))
            pool = await toolbox.retrieve(question)
            assimilating = [first.create_task(self._assimilate(toolbox, which, pool)) for which in options.instructions]
        thought, learnt = inquiring.result(), [task.result() for task in assimilating]
        if not pool:
            return dataclasses.replace(remembered(thought), details=details(thought, [], pool))

        # Equation 4. y = Agent_TA(I, q, T, P).
        async with asyncio.TaskGroup() as second:
            accommodating = [
                second.create_task(self._accommodate(toolbox, which, pool, knowledge, thought))
                for which, knowledge in zip(options.instructions, learnt, strict=True)
            ]
        revisions = [task.result() for task in accommodating]

        lessons = [Lesson(*parts) for parts in zip(options.instructions, learnt, revisions, strict=True)]
        numbered = self.prompter.numbered(toolbox, pool)
        answer, found = answered(thought, lessons, numbered), details(thought, lessons, numbered)
        toolbox.note(explained(answer, thought, lessons), **found)
        return dataclasses.replace(answer, details=found)

    async def _inquire(self, toolbox: Toolbox) -> Thought | None:
        """Return P, or None without accommodation, which alone uses it."""
        if not self.options.accommodation:
            return None
        return parse_thought((await self.prompter.ask(toolbox, "inquire")).text)

    async def _assimilate(self, toolbox: Toolbox, which: Instruction, pool: Sequence[Passage]) -> str:
        """Return T, or "" without passages or assimilation."""
        if not (pool and self.options.assimilation):
            return ""
        instruction = {"instruction": self.prompter.text(f"{which}_assimilate")}
        return (await self.prompter.ask(toolbox, "assimilate", pool, fields=instruction)).text

    async def _accommodate(
        self, toolbox: Toolbox, which: Instruction, pool: Sequence[Passage], knowledge: str, thought: Thought | None
    ) -> Revision:
        """Return y. Without assimilation, D replaces T.

        P is left out without accommodation, or if the window has no room for it.
        """
        learns = self.options.assimilation
        knowledge_shown = fenced(knowledge) or "(nothing)"
        fields = {
            "evidence": self.prompter.text("evidence", knowledge=knowledge_shown) if learns else "",
            "instruction": self.prompter.text(f"{which}_accommodate"),
            "thought": fenced(thought.text) or "(nothing)" if thought else "",
        }
        final = ANSWER if self.options.abstain else TEXT
        role, form = ("accommodate", _revision) if thought else ("conclude", _conclusion)
        try:
            reply = await self.prompter.ask(
                toolbox, role, [] if learns else pool, form=form(len(pool), final), fields=fields
            )
        except ContextError:
            if thought is None:
                raise
            toolbox.note("the window does not hold the reasoning from memory beside what was learnt; left out")
            return await self._accommodate(toolbox, which, pool, knowledge, None)
        revision = parse_revision(reply.text, len(pool), structured=toolbox.structured)
        if revision.degraded:
            if reply.finish == "length":
                raise CutError
            if revision.answer:
                warn(PLAIN_TEXT)
        return revision


def _revision(size: int, final: Mapping[str, Any]) -> Form:
    """Return the form for a corrected thought about `size` documents, and an answer with the schema `final`."""
    correction = object_of(before=_STEP, after=_STEP, documents=numbers_of(size))
    corrections = list_of(correction, _MOST_CORRECTIONS)
    fields = {"reasoning": NOTE, "corrections": corrections, "thought": NOTE, "documents": numbers_of(size)}
    return Form("revision", object_of(**fields, answer=final))


def _conclusion(size: int, final: Mapping[str, Any]) -> Form:
    """Return the form for a thought about `size` documents, and an answer with the schema `final`."""
    return Form("conclusion", object_of(thought=NOTE, documents=numbers_of(size), answer=final))


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.strategy(
        "activerag",
        "rqa_activerag:ActiveRag",
        rank=25,
        needs={"retrieve", "generate"},
        summary="corrects its own reasoning by what it learns from the passages",
    )
