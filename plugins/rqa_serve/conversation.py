"""Earlier turns of a conversation, condensed with the last question into one question."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from robust_qa import Usage
from robust_qa.kit import fenced, final_reply, load_prompts, one_line

from .footnotes import without_notes
from .requests import Turn

if TYPE_CHECKING:
    from robust_qa.answering import Session

_PROMPT = load_prompts(Path(__file__).with_name("prompts"))["condense"]
_TURNS, _CHARACTERS = 8, 1000  # turns read, and characters of each


async def condensed(session: Session, question: str, earlier: Sequence[Turn]) -> tuple[str, Usage]:
    """Return a question that stands alone, and what it cost to write.

    It is `question` itself if there are no earlier turns or the reader writes no text. Raises CallError if the reader
    fails.
    """
    toolbox = session.toolbox("reader")
    if not earlier or not toolbox.generative:
        return question, Usage()
    turns = [f"{turn.role}: {fenced(without_notes(turn.text)[:_CHARACTERS])}" for turn in earlier[-_TURNS:]]
    fields = {"conversation": "\n".join(turns), "question": fenced(question)}
    reply = final_reply(await toolbox.generate(_PROMPT, fields=fields))
    return one_line(reply.text) or question, toolbox.trace.usage
