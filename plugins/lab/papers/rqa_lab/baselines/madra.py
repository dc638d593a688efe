"""Debate: agents with and without passages answer, read each other's replies and answer again; a judge decides.

After MADRA: Wang et al., "Apollo's Oracle: Retrieval-Augmented Reasoning in Multi-Agent Debates", 2023, without the
agents' own searches. Agents with passages select their evidence first. m agents in r rounds make at most m (r + 1) + 1
calls, and one for each selection.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from robust_qa import Answer, ContextError, CutError, Passage
from robust_qa.kit import answer_key

from . import asking
from .replies import documents_line, find, numbers, voted

if TYPE_CHECKING:
    from robust_qa import Toolbox


class Madra:
    """Lets agents with and without passages debate the answer until they agree or a judge decides."""

    needs = frozenset({"retrieve", "generate"})

    @dataclass
    class Options(asking.SamplingOptions):
        # m: debaters; the first, the third and so on see the passages
        agents: Annotated[int, Meta(ge=2)] = 3
        rounds: Annotated[int, Meta(ge=0)] = 2  # r: maximum times that they see each other's replies
        select: bool = True  # each agent with passages first selects its evidence
        judge: bool = True  # if they disagree, let the model decide, else the majority

    def __init__(self, options: Options) -> None:
        self.options = options
        self.agent = asking.Agent(options, "madra")

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Answer in m calls if the agents agree at once, m more for each round until they do, and 1 for the judge.

        Each agent with passages makes 1 more call to select evidence. Abstains if no agent has an answer in the end.
        """
        options, passages = self.options, await toolbox.retrieve(question)
        evidence = await self._evidence(toolbox, passages)
        debate: list[list[str]] = []
        while len(debate) <= options.rounds and not (debate and agreed(debate[-1])):
            speak = partial(self._speak, toolbox, evidence, debate[-1] if debate else ())
            debate.append(await asking.at_once(speak, range(options.agents)))
        last, picked = debate[-1], tuple[int, ...]()
        if options.judge and not agreed(last):
            with suppress(ContextError, CutError):  # the majority decides
                verdict = await self.agent.ask(toolbox, "judge", passages, replies=last)
                picked = numbers(find(verdict).answer, len(last))
        seen = [self.agent.numbered(toolbox, own) for own in evidence]
        answer = voted(last, *seen, chosen=picked[0] - 1 if picked else None)
        selected = [[passages.index(passage) + 1 for passage in own] for own in evidence]
        judged = picked[0] if picked else None
        return dataclasses.replace(answer, details={"evidence": selected, "rounds": debate, "judged": judged})

    async def _evidence(self, toolbox: Toolbox, passages: Sequence[Passage]) -> list[Sequence[Passage]]:
        """Return the passages of each agent. A selection without passages, or one that was cut, selects all."""
        agents = range(self.options.agents)
        if not (self.options.select and passages):
            return [passages if number % 2 == 0 else () for number in agents]

        async def select(number: int) -> str:
            return await self.agent.ask(toolbox, "select", passages, sample=number)

        numbered = self.agent.numbered(toolbox, passages)
        replies = await asking.at_once(select, agents[::2])
        chosen = [
            [numbered[n - 1] for n in numbers(documents_line(reply) or reply, len(passages))] for reply in replies
        ]
        return [
            [p for p in passages if p in chosen[number // 2]] or passages if number % 2 == 0 else ()
            for number in agents
        ]

    async def _speak(
        self, toolbox: Toolbox, evidence: Sequence[Sequence[Passage]], before: Sequence[str], number: int
    ) -> str:
        """Return an agent's reply to the others. It repeats its last reply if this one is too long or cut."""
        seen = evidence[number]
        if not before:
            return await self.agent.ask(
                toolbox, "answer_documents" if number % 2 == 0 else "answer_memory", seen, sample=number
            )
        others = [reply for other, reply in enumerate(before) if other != number]
        try:
            return await self.agent.ask(toolbox, "debate", seen, sample=number, own=before[number], replies=others)
        except (ContextError, CutError):
            return before[number]


def agreed(replies: Sequence[str]) -> bool:
    """Whether all replies have the same answer, or none has one."""
    return len({answer_key(find(reply).answer) for reply in replies}) == 1
