"""RobustRAG: the model reads each passage alone, then answers from keywords that many readings share.

Xiang et al., "Certifiably Robust RAG against Retrieval Corruption", 2024, keyword aggregation. k + 1 calls for k
passages, k of them at once.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from robust_qa import Answer
from robust_qa.kit import cite, contains_words
from rqa_prompts import UNKNOWN, says_unknown

from .. import asking
from ..replies import concluded
from .keywords import Keywords, certified, kept, keywords

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

    def __init__(self, options: Options) -> None:
        self.options = options
        self.agent = asking.Agent(options, "robustrag")

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Answer in k + 1 calls. Abstains if no reading has an answer or none agree."""
        options, passages = self.options, await toolbox.retrieve(question)
        replies = await asking.at_once(lambda passage: self.agent.ask(toolbox, "isolate", [passage]), passages)
        readings = [None if abstains(reply) else keywords(reply) for reply in replies]
        shared = kept(readings, options.alpha, options.beta)
        details = {"readings": replies, "keywords": _sorted(shared), "certified": 0}
        if not shared:
            reason = "No keyword stands in enough of the readings." if any(readings) else "No passage has an answer."
            return Answer(None, reason=reason, details=details)
        answer = concluded(await self.agent.ask(toolbox, "aggregate", keywords="\n".join(_sorted(shared))))
        if answer.text is None:
            return dataclasses.replace(answer, details=details)
        details["certified"] = certified(readings, options.alpha, options.beta)
        said = [not abstains(reply) and contains_words(answer.text, reply) for reply in replies]
        citations = tuple(cite(passage, answer.text) for passage in compress(passages, said))
        return dataclasses.replace(answer, citations=citations, details=details)


def abstains(reply: str) -> bool:
    """Whether the reading of a passage has no answer."""
    return says_unknown(reply) or _DECLINING.search(reply) is not None


def _sorted(shared: Keywords) -> list[str]:
    """Return the keywords for the prompt, longest first. Their order does not depend on the passages."""
    return sorted(shared, key=lambda keyword: (-len(keyword), keyword))
