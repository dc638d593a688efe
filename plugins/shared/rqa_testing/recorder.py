"""The conformance checks of recorders, which get answers to the questions below."""

from __future__ import annotations

import asyncio
import inspect

from robust_qa import Answer, Position, Usage
from robust_qa.kit import cite

from .suite import ODD_TEXTS, PASSAGES, QUESTION, Subject, Suite, expect

SUITE = Suite()
COMMAND, OTHER = "ask", "chat"  # the commands that the answers are said to be of
PARIS = Answer(
    "Paris",
    0.9,
    (cite(PASSAGES[0], "Paris"),),
    conflicts=(Position("Paris", chosen=True), Position("Marseille", citations=(cite(PASSAGES[2]),), chosen=False)),
    question=QUESTION,
    strategy="rag",
    usage=Usage(1, 100, 2),
    seconds=0.1,
)
ABSTENTION = Answer(None, reason="The passages do not say.", question="Who mined the moon?", strategy="rag")


@SUITE.behaviour("it has a method `def add(answer, command)`")
async def _shape(subject: Subject) -> None:
    subject.has("add")
    expect(not inspect.iscoroutinefunction(subject.component.add), "`add` is `async def`; rqa calls it in a thread")


@SUITE.behaviour("`add` keeps an answer and returns None, or a notice for the user")
async def _adds(subject: Subject) -> None:
    for answer in (PARIS, ABSTENTION):
        notice = await subject.call("add", answer, COMMAND)
        expect(notice is None or isinstance(notice, str), f"it returned a {type(notice).__name__}")
        expect(notice is None or bool(notice.strip()), "the notice is blank; return None instead")


@SUITE.behaviour("`add` accepts any text")
async def _any_text(subject: Subject) -> None:
    cases = ((what, Answer(text or None, question=text, strategy="rag")) for what, text in ODD_TEXTS)
    await subject.survives("add", *((what, (answer, COMMAND)) for what, answer in cases))


@SUITE.behaviour("`add` handles two concurrent answers")
async def _at_once(subject: Subject) -> None:
    await asyncio.gather(*(subject.call("add", answer, COMMAND) for answer in (PARIS, ABSTENTION)))


@SUITE.behaviour("`questions` returns those of the command, the newest first", of="questions")
async def _questions(subject: Subject) -> None:
    for answer in (PARIS, ABSTENTION):
        await subject.call("add", answer, COMMAND)
    await subject.call("add", PARIS, OTHER)
    found, wanted = await subject.call("questions", COMMAND, 3), [ABSTENTION.question, PARIS.question]
    expect(list(found) == wanted, f"it returned {found!r}, not {wanted!r}")
