"""Baselines that ask step by step: questions that check a draft, or a search with each sentence of the reasoning."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from robust_qa import Answer
from robust_qa.kit import sentences

from . import asking
from .replies import concluded, find, reconsidered

if TYPE_CHECKING:
    from robust_qa import Toolbox

_QUESTION = re.compile(r"^[^\w\n]*(?:\d+\W+)?(\w.*[?？])[^\w\n?？]*$", re.M)


class ChainOfVerification:
    """Drafts an answer, plans questions that check it, answers each alone, and revises the draft.

    Dhuliawala et al., "Chain-of-Verification Reduces Hallucination in Large Language Models", Findings of ACL 2024,
    Section 3: the factored variant, from memory, without examples.
    """

    needs = frozenset({"generate"})

    @dataclass
    class Options(asking.Options):
        questions: Annotated[int, Meta(ge=1)] = 5  # maximum questions that check the draft, each a call

    def __init__(self, options: Options) -> None:
        self.most = options.questions
        self.agent = asking.Agent(options, "cove")

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Answer in 3 calls and one for each checking question. Abstains if the revision does."""
        draft = await self.agent.ask(toolbox, "draft")
        plan = await self.agent.ask(toolbox, "plan", draft=draft)
        checks = _QUESTION.findall(plan)[: self.most]

        async def check(asked: str) -> str:
            return await self.agent.ask(toolbox, "check", question=asked)

        found = await asking.at_once(check, checks)
        verified = "\n".join(f"Q: {asked}\nA: {reply}" for asked, reply in zip(checks, found, strict=True))
        before, answer = (
            find(draft).answer,
            concluded(await self.agent.ask(toolbox, "revise", draft=draft, checks=verified or "(none)")),
        )
        details = {"before": before or None, "checks": dict(zip(checks, found, strict=True))}
        return dataclasses.replace(reconsidered(answer, before), details=details)


_CONCLUDES = re.compile(r"\banswer is\b|<<<ANSWER>>>", re.I)


class InterleavedRetrieval:
    """Reasons sentence by sentence, retrieves with each sentence, and answers from all passages.

    Trivedi et al., "Interleaving Retrieval with Chain-of-Thought Reasoning for Knowledge-Intensive Multi-Step
    Questions" (IRCoT), ACL 2023, Section 3, with the limits of Section 4; without examples.
    """

    needs = frozenset({"retrieve", "generate"})

    @dataclass
    class Options(asking.PassageOptions):
        steps: Annotated[int, Meta(ge=1)] = 8  # maximum sentences of the reasoning, each a call
        passages: Annotated[int, Meta(ge=1)] = 15  # maximum passages to collect

    def __init__(self, options: Options) -> None:
        self.options = options
        self.agent = asking.Agent(options, "ircot")

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Answer in 1 call and one for each sentence. Abstains if the last reply does."""
        pool = (await toolbox.retrieve(question))[: self.options.passages]
        thoughts: list[str] = []
        while len(thoughts) < self.options.steps:
            reply = await self.agent.ask(toolbox, "reason", pool, thoughts=" ".join(thoughts) or "(nothing yet)")
            start, end = next(iter(sentences(reply)), (0, 0))
            thought = reply[start:end]
            if not thought or thought in thoughts:
                break
            thoughts.append(thought)
            if _CONCLUDES.search(thought):
                break
            found = [passage for passage in await toolbox.retrieve(thought) if passage not in pool]
            pool = [*pool, *found][: self.options.passages]
        reply = await self.agent.ask(toolbox, "answer", pool, thoughts=" ".join(thoughts) or "(nothing)")
        answer = concluded(reply, self.agent.numbered(toolbox, pool))
        return dataclasses.replace(answer, details={"thoughts": thoughts, "passages": [one.id for one in pool]})
