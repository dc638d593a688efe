"""Chain of verification: the model checks its own draft by questions that it answers without seeing the draft."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from robust_qa import Answer

from . import asking
from .replies import concluded, find, reconsidered

if TYPE_CHECKING:
    from robust_qa import Toolbox

_QUESTION = re.compile(r"^[^\w\n]*(?:\d+\W+)?(\w.*[?？])\W*$", re.M)


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
