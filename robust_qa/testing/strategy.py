"""What the host relies on in a strategy, tried over components that follow a script."""

from __future__ import annotations

import inspect
import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, get_args

from ..errors import RefusedError, RqaError
from ..kit.citations import cite
from ..types import Answer, Passage, Power, Question
from .bench import toolbox
from .conformance import Failed, Skipped, Subject, Suite, expect, fits, told
from .fakes import OverlapEvaluator, ScriptedModel, SentenceReader, StaticRetriever
from .samples import ODD_TEXTS, PASSAGES, QUESTION

SUITE = Suite()
POWERS = frozenset(get_args(Power))
WRITING = frozenset({"generate", "continue_text"})
HOST_FIELDS = ("question", "strategy", "usage", "seconds", "trace")
GARBAGE = (
    "{",
    "[]",
    "null",
    '{"answer": 7, "groups": [null], "passages": "none", "documents": [99, -1]}',
    "Document 99: [[[1, 2], <answer>",
    "answer: " * 2000,
)


@SUITE.behaviour("it has `needs`, a set of powers, and a method `async def answer(question, toolbox)`")
async def _shape(subject: Subject) -> None:
    strategy = subject.component
    expect(not isinstance(strategy, type), "this is the class: make an instance of it")
    needs = getattr(strategy, "needs", None)
    expect(isinstance(needs, set | frozenset), f"`needs` is {needs!r}, and should be a frozenset")
    unknown = sorted(map(repr, needs - POWERS)) if needs else []
    expect(not unknown, f"`needs` has {', '.join(unknown)}; the powers are {', '.join(sorted(POWERS))}")
    expect(inspect.iscoroutinefunction(getattr(strategy, "answer", None)), "`answer` is no `async def`")


@SUITE.behaviour("it returns an Answer, and leaves the host's fields of it alone")
async def _answers(subject: Subject) -> None:
    answer = await _ask(subject)
    _valid(answer)
    blank = Answer(None)
    filled = [name for name in HOST_FIELDS if getattr(answer, name) != getattr(blank, name)]
    expect(not filled, f"it filled in {', '.join(filled)}")


@SUITE.behaviour("it uses no powers but those it needs")
async def _powers(subject: Subject) -> None:
    used: set[str] = set()
    await _ask(subject, used=used)
    needs = set(subject.component.needs)
    # A reader that writes can be read with, too.
    more = sorted(used - needs - ({"read"} if "generate" in needs else set()))
    expect(not more, f"it also uses {', '.join(more)}: put it in `needs`")


@SUITE.behaviour("it abstains, or answers from memory, when there are no passages")
async def _without_passages(subject: Subject) -> None:
    answer = await _ask(subject, passages=())
    if not WRITING & subject.component.needs:
        expect(answer.text is None, f"it answered {answer.text!r} from nothing")


@SUITE.behaviour("it says why when it abstains")
async def _reason(subject: Subject) -> None:
    for passages in ((), PASSAGES[-1:]):
        answer = await _ask(subject, passages=passages, replies="I don't know.")
        if answer.text is None:
            expect(bool(answer.reason.strip()), "`text` is None, and `reason` is empty")


@SUITE.behaviour("it cites only what it was given")
async def _citations(subject: Subject) -> None:
    _cites_given(await _ask(subject))


@SUITE.behaviour("its `correct`, if it has one, gives passages, whatever it is given")
async def _correct(subject: Subject) -> None:
    correct = getattr(subject.component, "correct", None)
    if correct is None:
        return
    expect(inspect.iscoroutinefunction(correct), "`correct` is no `async def`")
    odd = tuple(Passage(text, id=what) for what, text in ODD_TEXTS)
    for what, passages in (("no passages", ()), ("passages", PASSAGES), ("odd passages", odd)):
        tools = toolbox(Question(QUESTION, passages=tuple(passages)), **_components(subject))
        fits(await correct(QUESTION, tools), list[Passage], case=f"{what}: ")


@SUITE.behaviour("its `details` can be written as JSON")
async def _details(subject: Subject) -> None:
    answer = await _ask(subject)
    try:
        json.dumps(dict(answer.details), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise Failed(told(error)) from error


@SUITE.behaviour("it takes any text in a passage, and any question")
async def _any_text(subject: Subject) -> None:
    odd = [Passage(text, id=what) for what, text in ODD_TEXTS]
    await _endures(subject, "odd passages", passages=odd)
    for what, text in ODD_TEXTS:
        await _endures(subject, f"{what} as question", question=text)


@SUITE.behaviour("it takes any reply of a model")
async def _any_reply(subject: Subject) -> None:
    if not {"read", *WRITING} & subject.component.needs:
        raise Skipped("it needs no reader")
    for reply in (*(text for _, text in ODD_TEXTS), *GARBAGE):
        for structured in (False, True):
            _cites_given(await _endures(subject, f"the reply {reply[:40]!r}", replies=reply, structured=structured))


@SUITE.behaviour("it lets a failed call fail the question, so that no outage reads as an abstention")
async def _failed_calls(subject: Subject) -> None:
    try:
        answer = await _ask(subject, broken=True)
    except (RqaError, ExceptionGroup):
        return
    expect(not subject.component.needs, f"every call failed, and it returned {answer}")


async def _ask(
    subject: Subject,
    *,
    question: str = QUESTION,
    passages: Sequence[Passage] = PASSAGES,
    replies: str | None = None,
    structured: bool = False,
    broken: bool = False,
    used: set[str] | None = None,
) -> Answer:
    """The strategy's answer over no more than it needs; the reader is a model where `replies` are given."""
    components = _components(subject, passages, replies, structured=structured)
    if broken:
        components |= {kind: _Broken() for kind, component in components.items() if component and kind != "names"}
    needs = subject.component.needs
    own = tuple(passages) if "read" in needs and "retrieve" not in needs else None  # there must be something to read
    tools = _Watched(toolbox(Question(question, passages=own), **components), set() if used is None else used)
    answer: Answer = await subject.component.answer(question, tools)
    return answer


def _components(
    subject: Subject, passages: Sequence[Passage] = PASSAGES, replies: str | None = None, *, structured: bool = False
) -> dict[str, Any]:
    needs = subject.component.needs
    reader: Any = None
    if WRITING & needs or ("read" in needs and replies is not None):
        reader = ScriptedModel("Paris" if replies is None else replies, structured=structured)
    elif "read" in needs:
        reader = SentenceReader()
    return {
        "retriever": StaticRetriever(passages) if "retrieve" in needs else None,
        "reader": reader,
        "evaluator": OverlapEvaluator() if "score" in needs else None,
        "names": defaultdict(lambda: _Other(passages)),
    }


async def _endures(subject: Subject, case: str, **conditions: Any) -> Answer:
    try:
        answer = await _ask(subject, **conditions)
    except Exception as error:
        raise Failed(f"{case}: raised {told(error)}") from error
    _valid(answer, f"{case}: ")
    return answer


def _valid(answer: Any, case: str = "") -> None:
    fits(answer, Answer, case=case)
    expect(answer.text is None or bool(answer.text.strip()), f"{case}the text is {answer.text!r}: None or words")


def _cites_given(answer: Answer) -> None:
    texts = {passage.id: _flat(passage.text) for passage in PASSAGES}
    for citation in (*answer.citations, *(cited for side in answer.conflicts for cited in side.citations)):
        if citation.origin == "memory":
            continue
        expect(citation.id in texts, f"it cites {citation.id!r}, which nothing retrieved")
        quote = _flat(citation.quote).removesuffix("…")
        expect(bool(quote) and quote in texts[citation.id], f"{citation.quote!r} does not stand in {citation.id!r}")


def _flat(text: str) -> str:
    return " ".join(text.split())


class _Watched:
    """A toolbox that remembers which powers were reached for."""

    def __init__(self, tools: Any, used: set[str]) -> None:
        self._tools, self._used = tools, used

    def __getattr__(self, name: str) -> Any:
        if name in POWERS:
            self._used.add(name)
        return getattr(self._tools, name)


class _Other(StaticRetriever):
    """What a strategy's options may name: a retriever with the same passages, and a strategy that repeats the first."""

    needs = frozenset({"retrieve"})

    async def answer(self, question: str, toolbox: Any) -> Answer:
        for passage in await toolbox.retrieve():
            if passage.text.strip():
                return Answer(passage.text.strip(), citations=(cite(passage),))
        return Answer(None, reason="No passage was handed on.")


class _Broken:
    """Every kind of component at once, and none of them works."""

    cached = False

    async def refuse(self, *_: Any) -> Any:
        raise RefusedError("this component is broken")

    retrieve = read = generate = continue_text = score = refuse
