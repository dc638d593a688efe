"""RobustRAG: the model reads each passage alone, then answers from keywords that many readings share.

Xiang et al., "Certifiably Robust RAG against Retrieval Corruption", 2024, keyword aggregation. k + 1 calls for k
passages, k of them at once.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from robust_qa import Answer
from robust_qa.kit import UNKNOWN, answer_key, cite, contains_words, says_unknown

from .. import asking
from ..replies import concluded
from .certificate import Keywords, attainable, kept
from .keywords import keywords

if TYPE_CHECKING:
    from robust_qa import Toolbox

# Models often begin with what is missing. "I Don't Know How to Love Him" is a title.
_DECLINING = re.compile(rf"\bI (?:do not|don['’]?t) know\b|\b{UNKNOWN}\b")


class RobustRag:
    """Reads each passage alone, then answers from the keywords that many readings share."""

    needs = frozenset({"retrieve", "generate"})

    @dataclass
    class Options(asking.Options):
        # a keyword must be in this share of the readings with an answer,
        alpha: Annotated[float, Meta(gt=0, le=1)] = 0.3
        beta: Annotated[int, Meta(ge=1)] = 3  # or in this many, whichever is less
        certify_calls: Annotated[int, Meta(ge=0)] = 0  # maximum extra calls for each step of the certificate

    def __init__(self, options: Options) -> None:
        self.options = options
        self.agent = asking.Agent(options, __file__)

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Answer in k + 1 calls, plus those of the certificate. Abstains if no reading has an answer or none agree."""
        options, passages = self.options, await toolbox.retrieve(question)
        replies = await asking.at_once(lambda passage: self.agent.ask(toolbox, "isolate", [passage]), passages)
        readings = [None if abstains(reply) else keywords(reply) for reply in replies]
        shared = kept(readings, options.alpha, options.beta)
        details = {"readings": replies, "keywords": _sorted(shared), "certified": 0}
        if not shared:
            reason = "No keyword stands in enough of the readings." if any(readings) else "No passage has an answer."
            return Answer(None, reason=reason, details=details)
        answer = await self._aggregate(toolbox, shared)
        if answer.text is None:
            return dataclasses.replace(answer, details=details)
        details["certified"] = await self._certified(toolbox, readings, shared, answer.text)
        said = [not abstains(reply) and contains_words(answer.text, reply) for reply in replies]
        citations = tuple(cite(passage, answer.text) for passage in compress(passages, said))
        return dataclasses.replace(answer, citations=citations, details=details)

    async def _aggregate(self, toolbox: Toolbox, shared: Keywords) -> Answer:
        return concluded(await self.agent.ask(toolbox, "aggregate", keywords="\n".join(_sorted(shared))))

    async def _certified(
        self, toolbox: Toolbox, readings: Sequence[Keywords | None], answered: Keywords, text: str
    ) -> int:
        """Return k', the number of corrupted passages that cannot change the answer.

        Valid if the model gives equal replies to equal prompts. Without extra calls, it counts the corrupted passages
        that cannot change the kept keywords.
        """
        import asyncio

        options = self.options
        for corrupted in range(1, len(readings)):  # with all passages corrupted, nothing is certain
            sets = attainable(readings, corrupted, options.alpha, options.beta, most=options.certify_calls + 1)
            further = [some for some in sets or [] if some != answered]
            if sets is None or len(further) > options.certify_calls or not all(further):
                return corrupted - 1
            async with asyncio.TaskGroup() as group:
                asking_again = [group.create_task(self._aggregate(toolbox, some)) for some in further]
            if any(answer_key(task.result().text or "") != answer_key(text) for task in asking_again):
                return corrupted - 1
        return len(readings) - 1


def abstains(reply: str) -> bool:
    """Whether the reading of a passage has no answer."""
    return says_unknown(reply) or _DECLINING.search(reply) is not None


def _sorted(shared: Keywords) -> list[str]:
    """Return the keywords for the prompt, longest first. Their order does not depend on the passages."""
    return sorted(shared, key=lambda keyword: (-len(keyword), keyword))
