"""The conformance checks of strategies, with scripted components."""

from __future__ import annotations

import inspect
import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, get_args

from robust_qa import Answer, Passage, Question, RefusedError, RqaError
from robust_qa.answering import Power, cited
from robust_qa.kit import cite, is_from

from .bench import toolbox
from .fakes import OverlapEvaluator, ScriptedModel, SentenceReader, StaticRetriever
from .suite import ODD_TEXTS, PASSAGES, QUESTION, Failed, Skipped, Subject, Suite, described, expect, fits

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
    subject.has("answer")
    strategy = subject.component
    needs = getattr(strategy, "needs", None)
    expect(isinstance(needs, set | frozenset), f"`needs` is {needs!r}, not a frozenset")
    unknown = sorted(map(repr, needs - POWERS)) if needs else []
    expect(not unknown, f"`needs` has {', '.join(unknown)}. The powers are {', '.join(sorted(POWERS))}")
    expect(inspect.iscoroutinefunction(strategy.answer), "`answer` is not `async def`")


@SUITE.behaviour("it returns an Answer and does not set the host's fields")
async def _answers(subject: Subject) -> None:
    answer = await _ask(subject)
    _valid(answer)
    blank = Answer(None)
    filled = [name for name in HOST_FIELDS if getattr(answer, name) != getattr(blank, name)]
    expect(not filled, f"it set {', '.join(filled)}")


@SUITE.behaviour("it uses only powers in `needs`")
async def _powers(subject: Subject) -> None:
    used: set[str] = set()
    await _ask(subject, used=used)
    needs = set(subject.component.needs)
    # A reader with `generate` can `read` too.
    more = sorted(used - needs - ({"read"} if "generate" in needs else set()))
    expect(not more, f"it also uses {', '.join(more)}. Add it to `needs`")


@SUITE.behaviour("it abstains or answers from memory if there are no passages")
async def _without_passages(subject: Subject) -> None:
    answer = await _ask(subject, passages=())
    if not WRITING & subject.component.needs:
        expect(answer.text is None, f"it answered {answer.text!r} without passages and model")


@SUITE.behaviour("it gives a reason when it abstains")
async def _reason(subject: Subject) -> None:
    for passages in ((), PASSAGES[-1:]):
        answer = await _ask(subject, passages=passages, replies="I don't know.")
        if answer.text is None:
            expect(bool(answer.reason.strip()), "`text` is None, but `reason` is empty")


@SUITE.behaviour("it cites only passages that it got")
async def _citations(subject: Subject) -> None:
    _cites_given(await _ask(subject))


@SUITE.behaviour("its `correct`, if it has one, returns passages for any passages")
async def _correct(subject: Subject) -> None:
    correct = getattr(subject.component, "correct", None)
    if correct is None:
        return
    expect(inspect.iscoroutinefunction(correct), "`correct` is not `async def`")
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
        raise Failed(described(error)) from error


@SUITE.behaviour("it accepts any text in passages and questions")
async def _any_text(subject: Subject) -> None:
    odd = [Passage(text, id=what) for what, text in ODD_TEXTS]
    await _checked_answer(subject, "odd passages", passages=odd)
    for what, text in ODD_TEXTS:
        await _checked_answer(subject, f"{what} as question", question=text)


@SUITE.behaviour("it accepts any reply of a model")
async def _any_reply(subject: Subject) -> None:
    if not {"read", *WRITING} & subject.component.needs:
        raise Skipped("it needs no reader")
    for reply in (*(text for _, text in ODD_TEXTS), *GARBAGE):
        for structured in (False, True):
            _cites_given(
                await _checked_answer(subject, f"the reply {reply[:40]!r}", replies=reply, structured=structured)
            )


@SUITE.behaviour("it raises the error of a failed call instead of abstaining")
async def _failed_calls(subject: Subject) -> None:
    try:
        answer = await _ask(subject, broken=True)
    except (RqaError, ExceptionGroup):
        return
    expect(not subject.component.needs, f"every call failed, but it returned {answer}")


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
    """The strategy's answer with only the components that it needs. With `replies`, the reader is a model."""
    components = _components(subject, passages, replies, structured=structured)
    if broken:
        components |= {
            kind: _FailingComponent() for kind, component in components.items() if component and kind != "names"
        }
    needs = subject.component.needs
    own = tuple(passages) if "read" in needs and "retrieve" not in needs else None  # it needs something to read
    tools = _RecordingToolbox(toolbox(Question(question, passages=own), **components), set() if used is None else used)
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
        "names": defaultdict(lambda: _NamedComponent(passages)),
    }


async def _checked_answer(subject: Subject, case: str, **conditions: Any) -> Answer:
    try:
        answer = await _ask(subject, **conditions)
    except Exception as error:
        raise Failed(f"{case}: raised {described(error)}") from error
    _valid(answer, f"{case}: ")
    return answer


def _valid(answer: Any, case: str = "") -> None:
    fits(answer, Answer, case=case)
    expect(answer.text is None or bool(answer.text.strip()), f"{case}the text is {answer.text!r}, not None or words")


def _cites_given(answer: Answer) -> None:
    for citation in (*cited(answer), *answer.closest):
        quoted = citation.origin == "memory" or any(is_from(citation, passage) for passage in PASSAGES)
        expect(quoted, f"it cites {citation.quote!r} of {citation.id!r}, which it did not get")


class _RecordingToolbox:
    """A toolbox that records which powers are used."""

    def __init__(self, tools: Any, used: set[str]) -> None:
        self._tools, self._used = tools, used

    def __getattr__(self, name: str) -> Any:
        if name in POWERS:
            self._used.add(name)
        return getattr(self._tools, name)


class _NamedComponent(StaticRetriever):
    """A component that options may name: a retriever of the same passages, and a strategy that returns the first."""

    needs = frozenset({"retrieve"})

    async def answer(self, question: str, toolbox: Any) -> Answer:
        for passage in await toolbox.retrieve():
            if passage.text.strip():
                return Answer(passage.text.strip(), citations=(cite(passage),))
        return Answer(None, reason="There are no passages.")


class _FailingComponent:
    """A component of every kind, whose calls all fail."""

    cached = False

    async def refuse(self, *_: Any) -> Any:
        raise RefusedError("this component is broken")

    retrieve = read = generate = continue_text = score = refuse
