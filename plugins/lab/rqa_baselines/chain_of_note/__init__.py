"""Chain-of-Note: the model writes a note on each passage, then answers from notes or memory, or declines. 1 call.

Yu et al., "Chain-of-Note: Enhancing Robustness in Retrieval-Augmented Language Models", EMNLP 2024; zero-shot.
"""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

from robust_qa import Answer

from .. import asking
from ..replies import concluded

if TYPE_CHECKING:
    from robust_qa import Toolbox

_NOTE = re.compile(r"^[^\w\n]*+note[^\w\n]++(\d{1,4})[^\w\n:：]*+[:：][\s*_]*+(.*\w.*)$", re.I | re.M)


class ChainOfNote:
    """Writes a note on the relevance of each passage, then answers from the notes."""

    needs = frozenset({"retrieve", "generate"})
    Options = asking.PassageOptions

    def __init__(self, options: asking.PassageOptions) -> None:
        self.agent = asking.Agent(options, __file__)

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Answer in 1 call. Abstains if neither notes nor memory give an answer."""
        passages = await toolbox.retrieve(question)
        reply = await self.agent.ask(toolbox, "answer", passages)
        notes = {int(number): note.strip() for number, note in _NOTE.findall(reply)}
        details = {"notes": {str(n): note for n, note in notes.items() if 1 <= n <= len(passages)}}
        return dataclasses.replace(concluded(reply, self.agent.numbered(toolbox, passages)), details=details)
