"""Earlier turns of a conversation, condensed with the last question into one question."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..kit import fenced, final_reply, load_prompts, one_line
from ..types import Message, Usage
from .session import Session, check_question

_PROMPTS = Path(__file__).parents[1] / "prompts" / "conversation"
_TURNS, _CHARACTERS = 8, 1000  # turns read, and characters of each


async def condensed(session: Session, question: str, earlier: Sequence[Message]) -> tuple[str, Usage]:
    """Return a question that stands alone, and what it cost to write.

    It is `question` itself if there are no `earlier` messages or the reader writes no text. Raises InputError if it is
    too long, and CallError if the reader fails.
    """
    check_question(question)
    toolbox = session.toolbox("reader")
    if not earlier or not toolbox.generative:
        return question, Usage()
    turns = [f"{message.role}: {fenced(message.content[:_CHARACTERS])}" for message in earlier[-_TURNS:]]
    fields = {"conversation": "\n".join(turns), "question": fenced(question)}
    reply = final_reply(await toolbox.generate(load_prompts(_PROMPTS)["condense"], fields=fields))
    return one_line(reply.text) or question, toolbox.trace.usage
