"""A question of a conversation, completed so that it can be understood alone.

A language model rewrites it. Without one, `completion` completes it by its form.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from robust_qa import Answer, Message, Usage
from robust_qa.answering import check_question
from rqa_prompts import fenced, final_reply, load_prompts, one_line

from .completion import Completion, Turn, completed

if TYPE_CHECKING:
    from robust_qa.answering import Session

__all__ = ["Completion", "Turn", "Understood", "completed", "understood"]

_PROMPTS = Path(__file__).with_name("prompts")
_TURNS, _CHARACTERS = 8, 1000  # turns that a model reads, and characters of each
_LEAD = re.compile(r"[A-Z][\w ]{5,30}: ")  # Probably: 1871
_SMALL_TALK = re.compile(
    r"\W*(?:hello|hi|hey|good (?:morning|day|afternoon|evening)|(?:many )?thanks|thank you(?: very much)?|bye|ok)\W*",
    re.IGNORECASE,
)
_NO_ANSWER = re.compile(r"Not sure|No passage|.*\?\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Understood:
    """A question that stands alone, and what it cost to write. `unknown`: a word that the conversation leaves open."""

    question: str
    usage: Usage = field(default_factory=Usage)
    unknown: str = ""

    @property
    def asked_back(self) -> Answer | None:
        """What to reply instead of an answer, None if the question can be answered."""
        if not self.unknown:
            return None
        reason = f'What does "{self.unknown}" stand for? Ask the whole question.'
        if _SMALL_TALK.fullmatch(self.unknown):
            reason = "That is no question. Ask what your documents may answer."
        return Answer(None, reason=reason, question=self.question)


async def understood(session: Session, question: str, earlier: Sequence[Message], *, follow: bool = True) -> Understood:
    """Return `question` as it can be understood without the `earlier` messages. Unless `follow`, return it as it is.

    Raises InputError if it is too long, and CallError if the reader fails.
    """
    check_question(question)
    toolbox = session.toolbox("reader")
    if not toolbox.generative and _SMALL_TALK.fullmatch(question):  # a word of it stands in some text
        return Understood(question, unknown=question)
    if not (earlier and follow):
        return Understood(question)
    if not toolbox.generative:
        complete = completed(question, _turns(earlier))
        return Understood(complete.question, unknown=complete.unknown)
    turns = [f"{message.role}: {fenced(message.content[:_CHARACTERS])}" for message in earlier[-_TURNS:]]
    fields = {"conversation": "\n".join(turns), "question": fenced(question)}
    reply = final_reply(await toolbox.generate(load_prompts(_PROMPTS)["condense"], fields=fields))
    return Understood(one_line(reply.text) or question, toolbox.trace.usage)


def _turns(messages: Sequence[Message]) -> list[Turn]:
    """Return the questions of a conversation, each completed from those before it, with their answers."""
    turns: list[Turn] = []
    for message in messages:
        if message.role == "user":
            turns.append(Turn(completed(message.content[:_CHARACTERS], turns).question))
        elif turns:
            said = message.content[:_CHARACTERS].strip().partition("\n")[0]
            turns[-1] = Turn(turns[-1].question, "" if _NO_ANSWER.match(said) else _LEAD.sub("", said, count=1))
    return turns
