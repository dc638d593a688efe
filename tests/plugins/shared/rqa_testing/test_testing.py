"""Conformance checks fail for broken components only. Fakes follow their script."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from robust_qa import (
    Answer,
    Citation,
    Completion,
    Continuation,
    Decoding,
    EmbedderHandle,
    Message,
    MissingError,
    Passage,
    Reading,
    RefusedError,
    Token,
    UnavailableError,
    Usage,
)
from robust_qa.kit import cite
from robust_qa.testing import (
    Finding,
    OverlapEvaluator,
    ScriptedModel,
    SentenceReader,
    StaticRetriever,
    ask,
    assert_conforms,
    check,
    embedder_handle,
)

QUESTION = "What is the capital of France?"
PARIS = Passage("Paris is the capital of France.", id="paris", score=2.0)
LYON = Passage("Lyon is a city of France.", id="lyon", score=1.0)


class Model:
    """A language model of words: it obeys max_tokens, stop and schema."""

    structured = True
    window = 2048
    max_tokens = 64

    def generate(self, messages: list[Message], decoding: Decoding) -> Completion:
        text = '{"known": true}' if decoding.schema else "Es ist Paris."
        for stop in decoding.stop:
            text = text.partition(stop)[0]
        return Completion(text, Usage(1, self.count_tokens(messages), len(text.split())))

    def count_tokens(self, messages: list[Message]) -> int:
        return sum(1 + len(message.content.split()) for message in messages)


class RawModel(Model):
    """It also continues a text."""

    def continue_text(self, prompt: str, decoding: Decoding, top: int) -> Continuation:
        text = "b"
        for stop in decoding.stop:
            text = text.partition(stop)[0]
        return Continuation(text, (Token("b", -0.1, {"b": -0.1} if top else {}),), Usage(1, len(prompt), 1))


class OneReading:
    """A strategy that reads once."""

    needs = frozenset({"retrieve", "read"})

    async def answer(self, question: str, toolbox: Any) -> Answer:
        passages = await toolbox.retrieve()
        reading = await toolbox.read(question, passages)
        if reading.text is None:
            return Answer(None, reason="The passages do not say.")
        return Answer(reading.text, citations=tuple(cite(passages[n], reading.text) for n in reading.passages))


class BatchedOverlap(OverlapEvaluator):
    async def score_many(self, requests: list[tuple[str, list[str]]]) -> list[list[float]]:
        return [await self.score(question, texts) for question, texts in requests]


class Letters:
    def embed(self, texts: list[str]) -> list[list[float]]:
        return [[text.count(letter) for letter in "abcdefgh"] for text in texts]


class Nearest:
    """A retriever that needs an embedder."""

    def __init__(self, embedder: EmbedderHandle) -> None:
        self.embedder = embedder

    async def retrieve(self, query: str, k: int) -> list[Passage]:
        *vectors, wanted = await self.embedder.embed([PARIS.text, LYON.text, query])
        near = zip((PARIS, LYON), (float(vector @ wanted) for vector in vectors), strict=True)
        found = [replace(passage, score=score) for passage, score in near]
        return sorted(found, key=lambda passage: -passage.score)[:k]


class Lending:
    """A retriever that hands over the very list that it keeps."""

    def __init__(self) -> None:
        self.passages = [PARIS]

    def retrieve(self, query: str, k: int) -> list[Passage]:
        return self.passages


CONFORMING = {
    "retriever": ("retriever", StaticRetriever([PARIS, LYON])),
    "dense-retriever": ("retriever", Nearest(embedder_handle(Letters()))),
    "reader": ("reader", SentenceReader()),
    "model": ("reader", Model()),
    "raw-model": ("reader", RawModel()),
    "evaluator": ("evaluator", OverlapEvaluator()),
    "embedder": ("embedder", Letters()),
    "strategy": ("strategy", OneReading()),
}


@pytest.mark.parametrize(("kind", "component"), CONFORMING.values(), ids=CONFORMING)
def test_a_component_that_keeps_its_contract_passes_every_check(kind: str, component: Any) -> None:
    assert [finding for finding in check(kind, component) if finding.state != "passed"] == []


def maker(method: str, base: type = object) -> Callable[..., Any]:
    """A function that makes components with that method and other attributes."""

    def make(function: Callable[..., Any] | None = None, **attributes: Any) -> Any:
        methods = {method: staticmethod(function)} if function else {}
        return type(base.__name__, (base,), methods | attributes)()

    return make


retriever, reader, evaluator, embedder = map(maker, ("retrieve", "read", "score", "embed"))
model, raw = maker("generate", Model), maker("continue_text", Model)


def numbered() -> Callable[..., Any]:
    numbers = iter(range(1000))
    return lambda query, k: [replace(PARIS, id=str(next(numbers)))]


FIELDS = "its passages have text, and fields of the right types"
ATTRIBUTES = "its optional attributes have the documented types"
BROKEN_RETRIEVERS = {
    "no-method": (object(), "it has a method `retrieve(query, k)`"),
    "texts": (retriever(lambda query, k: [PARIS.text]), "it returns a list of passages"),
    "more-than-k": (retriever(lambda query, k: [PARIS, LYON]), "it returns at most k passages"),
    "last-k": (retriever(lambda query, k: [PARIS, LYON][-k:]), "it returns the same first passages for any k"),
    "score-nan": (retriever(lambda query, k: [replace(PARIS, score=float("nan"))]), FIELDS),
    "same-ids": (retriever(lambda query, k: [PARIS, PARIS][:k]), "no two of its passages have the same id"),
    "worst-first": (retriever(lambda query, k: [LYON, PARIS][:k]), "it returns the most relevant passage first"),
    "other-ids": (retriever(numbered()), "it returns the same first passages for any k"),
    "picky": (retriever(lambda query, k: [PARIS] if query.strip() else 1 / 0), "it accepts any text as a query"),
    "cached": (retriever(lambda query, k: [PARIS], cached="no"), ATTRIBUTES),
    "concurrency": (retriever(lambda query, k: [PARIS], concurrency=0), ATTRIBUTES),
    "fingerprint": (
        retriever(lambda query, k: [PARIS], fingerprint=lambda self: str(time.perf_counter_ns())),
        "`fingerprint` returns the same str while nothing changes",
    ),
}


class OneQueryAtATime:
    async def retrieve(self, query: str, k: int) -> list[Passage]:
        self.query = query
        await asyncio.sleep(0.001)
        return [Passage(self.query, id=self.query)]


def test_a_retriever_that_mixes_up_two_queries_at_once_fails() -> None:
    assert failures("retriever", OneQueryAtATime()) == ["it handles two concurrent queries"]


FITTING = "`read` returns a Reading whose score, passages and offsets are valid"
BROKEN_READERS = {
    "neither": (object(), "it has a method `read(question, passages)` or `generate(messages, decoding)`"),
    "text": (reader(lambda question, passages: "Paris"), FITTING),
    "score": (reader(lambda question, passages: Reading("Paris", score=1.5)), FITTING),
    "rival-outside": (reader(lambda question, passages: Reading("Paris", rivals=(Reading("Rome", 2.0),))), FITTING),
    "from-nothing": (
        reader(lambda question, passages: Reading("Paris")),
        "`read` returns no answer without passages",
    ),
    "picky": (
        reader(lambda question, passages: Reading("".join(p.text.split()[0] for p in passages) or None)),
        "`read` accepts any text in passages and questions",
    ),
    "window": (reader(lambda question, passages: Reading(None), window=0), ATTRIBUTES),
}


COMPLETION = "`generate` returns a Completion with text and usage"
STRUCTURED = "`structured` is a bool, and if it is true, replies follow the schema"
BOUNDS = "`window` and `max_tokens` are token counts"
BROKEN_MODELS = {
    "model-text": (model(lambda messages, decoding: "Paris"), COMPLETION),
    "model-finish": (model(lambda messages, decoding: Completion("Paris", finish="eos")), COMPLETION),  # type: ignore[arg-type]
    "model-endless": (
        model(lambda messages, decoding: Completion("one two", Usage(1, 5, 100))),
        "`generate` respects max_tokens",
    ),
    "model-stop": (model(lambda messages, decoding: Completion("Paris")), "`generate` stops at a stop sequence"),
    "model-picky": (
        model(lambda messages, decoding: Completion("x") if messages[-1].content.isprintable() else 1 / 0),
        "`generate` accepts any text in a message",
    ),
    "schema": (model(lambda messages, decoding: Completion("Yes")), STRUCTURED),
    "structured": (model(structured="json"), STRUCTURED),
    "window": (model(window="4k"), BOUNDS),
    "no-room": (model(window=64), BOUNDS),
    "count": (model(count_tokens=lambda self, messages: 7), "`count_tokens` counts more for longer messages"),
}


def lengths(texts: list[str]) -> list[list[float]]:
    return [[len(text), 20.0] for text in texts]


ONE_WIDTH = "it returns one vector for each text, all of one width"
SAME = "it returns the same vector for the same text, in any batch"
BROKEN_EMBEDDERS = {
    "no-method": (object(), "it has a method `embed(texts)`"),
    "too-few": (embedder(lambda texts: lengths(texts)[:1]), ONE_WIDTH),
    "sorted": (embedder(lambda texts: lengths(sorted(texts))), "it returns the vectors in the order of the texts"),
    "of-batch": (embedder(lambda texts: [[len(text), len(texts) ** 2] for text in texts]), SAME),
    "picky": (embedder(lambda texts: lengths(texts) if all(texts) else 1 / 0), "it accepts any text"),
    "concurrency": (embedder(lengths, concurrency=0), ATTRIBUTES),
}


def tokens(*logprobs: float, top: int = 0) -> tuple[Token, ...]:
    return tuple(Token("b", logprob, {str(n): logprob for n in range(top)}) for logprob in logprobs)


CONTINUATION = "`continue_text` returns a Continuation with the probability of each token"
ENDS = "`continue_text` respects max_tokens and stops at a stop sequence"
BROKEN_RAW_MODELS = {
    "raw-completion": (raw(lambda prompt, decoding, top: Completion("b")), CONTINUATION),
    "raw-too-many": (raw(lambda prompt, decoding, top: Continuation("b", tokens(-1.0, top=9))), CONTINUATION),
    "raw-endless": (raw(lambda prompt, decoding, top: Continuation("b", tokens(*[-1.0] * 9))), ENDS),
    "raw-no-tokens": (raw(lambda prompt, decoding, top: Continuation("b", ())), CONTINUATION),
    "raw-stop": (raw(lambda prompt, decoding, top: Continuation("a", tokens(-1.0))), ENDS),
    "raw-picky": (
        raw(lambda prompt, decoding, top: Continuation("b", tokens(-1.0)) if "Paris\x00" not in prompt else 1 / 0),
        "`continue_text` accepts any text",
    ),
}


SCORES = "it returns a list of one score in [-1, 1] for each text"
BROKEN_EVALUATORS = {
    "no-method": (object(), "it has a method `score(question, texts)`"),
    "too-few": (evaluator(lambda question, texts: [0.5]), SCORES),
    "nan": (evaluator(lambda question, texts: [float("nan") for _ in texts]), SCORES),
    "best-first": (
        evaluator(lambda question, texts: sorted((1 / (1 + len(text.split())) for text in texts), reverse=True)),
        "it returns the scores in the order of the texts",
    ),
    "picky": (
        evaluator(lambda question, texts: [1 / len(text.split()) for text in texts]),
        "it accepts any text and any question",
    ),
    "many": (
        evaluator(
            lambda question, texts: [0.0] * len(texts), score_many=lambda self, requests: [[1.0]] * len(requests)
        ),
        "`score_many` returns the same scores as `score`",
    ),
    "needs": (evaluator(lambda question, texts, toolbox: [0.0] * len(texts), needs={"think"}), ATTRIBUTES),
}


def strategy(needs: Any, answer: Callable[..., Any], **attributes: Any) -> Any:
    return type("Strategy", (), {"needs": needs, "answer": staticmethod(answer), **attributes})()


def says(answer: Any) -> Callable[..., Any]:
    """A strategy's `answer` that retrieves, and says this whatever it finds."""

    async def says_it(question: str, toolbox: Any) -> Any:
        await toolbox.retrieve()
        return answer

    return says_it


async def abstains_without_a_word(question: str, toolbox: Any) -> Answer:
    return Answer((await toolbox.read(question, await toolbox.retrieve())).text)


async def answers_the_first_word(question: str, toolbox: Any) -> Answer:
    return Answer(question.split(maxsplit=1)[0])


async def trusts_json(question: str, toolbox: Any) -> Answer:
    return Answer(str(json.loads((await toolbox.generate(question)).text)["answer"]))


async def echoes(question: str, toolbox: Any) -> Answer:
    return Answer((await toolbox.generate(question)).text)


async def swallows_errors(question: str, toolbox: Any) -> Answer:
    try:
        await toolbox.retrieve()
    except Exception:
        return Answer(None, reason="Nothing was found.")
    return Answer(None, reason="Nothing was found.")


def correcting(correct: Callable[..., Any]) -> Any:
    component = strategy({"retrieve"}, says(Answer(None, reason="It only corrects.")))
    component.correct = correct
    return component


async def texts_of(question: str, toolbox: Any) -> Any:
    return [passage.text for passage in await toolbox.retrieve()]


async def the_first(question: str, toolbox: Any) -> Any:
    return [(await toolbox.retrieve())[0]]


CORRECT = "its `correct`, if it has one, returns passages for any passages"
SHAPE = "it has `needs`, a set of powers, and a method `async def answer(question, toolbox)`"
ANSWER = "it returns an Answer and does not set the host's fields"
CITATIONS = "it cites only passages that it got"
ANY_REPLY = "it accepts any reply of a model"
BROKEN_STRATEGIES = {
    "no-needs": (strategy(None, echoes), SHAPE),
    "plain-def": (strategy({"read"}, lambda question, toolbox: Answer("Paris")), SHAPE),
    "text": (strategy({"retrieve"}, says("Paris")), ANSWER),
    "confidence": (strategy({"retrieve"}, says(Answer("Paris", confidence=100))), ANSWER),
    "from-nothing": (
        strategy({"retrieve"}, says(Answer("Paris"))),
        "it abstains or answers from memory if there are no passages",
    ),
    "no-reason": (strategy({"retrieve", "read"}, abstains_without_a_word), "it gives a reason when it abstains"),
    "quote": (strategy({"retrieve"}, says(Answer("x", citations=(Citation("Oh no.", id="france"),)))), CITATIONS),
    "id": (strategy({"retrieve"}, says(Answer("x", citations=(Citation("Paris", id="nowhere"),)))), CITATIONS),
    "details": (strategy({"retrieve"}, says(Answer("x", details={"a": {1}}))), "its `details` can be written as JSON"),
    "picky": (strategy(frozenset(), answers_the_first_word), "it accepts any text in passages and questions"),
    "trusts-json": (strategy({"generate"}, trusts_json), ANSWER),
    "echoes": (strategy({"generate"}, echoes), ANY_REPLY),
    "corrects-to-text": (correcting(texts_of), CORRECT),
    "corrects-something-only": (correcting(the_first), CORRECT),
    "swallows": (
        strategy({"retrieve"}, swallows_errors),
        "it raises the error of a failed call instead of abstaining",
    ),
}


BROKEN = {
    (kind, name): case
    for kind, cases in (
        ("retriever", BROKEN_RETRIEVERS),
        ("reader", BROKEN_READERS | BROKEN_MODELS | BROKEN_RAW_MODELS),
        ("evaluator", BROKEN_EVALUATORS),
        ("embedder", BROKEN_EMBEDDERS),
        ("strategy", BROKEN_STRATEGIES),
    )
    for name, case in cases.items()
}


@pytest.mark.parametrize(("kind", "name"), BROKEN)
def test_a_component_that_breaks_its_contract_fails_that_check(kind: str, name: str) -> None:
    component, behaviour = BROKEN[kind, name]
    assert behaviour in failures(kind, component)


def test_an_undeclared_need_is_named() -> None:
    findings = check("strategy", strategy(frozenset(), echoes))

    assert findings[1].name == ANSWER
    assert findings[1].detail.startswith("MissingError: The strategy asks for a reader, and none is configured.")


@pytest.mark.parametrize("error", [MissingError, RefusedError, UnavailableError])
def test_an_rqa_error_is_a_finding_that_ends_the_checks(error: type[MissingError]) -> None:
    def absent(query: str, k: int) -> list[Passage]:
        raise error("There is no index.", hint="Run `rqa index`.")

    _, first, *rest = check("retriever", retriever(absent))

    assert (first.state, first.detail) == ("failed", f"{error.__name__}: There is no index. Run `rqa index`.")
    assert {finding.state for finding in rest} == {"skipped"}


def test_a_check_has_a_time_limit() -> None:
    class Stuck:
        async def retrieve(self, query: str, k: int) -> list[Passage]:
            await asyncio.Event().wait()
            return []

    findings = check("retriever", Stuck(), seconds=0.01)

    assert findings[1] == Finding("it returns a list of passages", "failed", "no result within 0.01 seconds")


def test_assert_conforms_lists_every_finding() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_conforms("retriever", retriever(lambda query, k: [PARIS, LYON]))

    report = str(caught.value)
    assert " failed  it returns at most k passages: 2 passages for k=1" in report
    assert " passed  it returns a list of passages" in report


def test_ask_puts_a_question_through_the_toolbox_of_the_host() -> None:
    found = StaticRetriever([PARIS])
    scripted = ScriptedModel("Documents: 1\nAnswer: Paris")

    answer = ask(OneReading(), QUESTION, retriever=found, reader=scripted)

    assert (answer.text, [citation.id for citation in answer.citations]) == ("Paris", ["paris"])
    assert found.queries == [QUESTION]
    assert PARIS.text in scripted.calls[0][0][-1].content


def own(*parameters: str) -> Any:
    """A method `def` with these parameters besides `self`."""
    return eval(f"lambda self, {', '.join(parameters)}: None")


SIGNATURES = {
    "retriever-without-k": ("retriever", {"retrieve": own("query")}, "retrieve(query, k)"),
    "index": ("retriever", {"retrieve": own("query", "k"), "index": own("paths")}, "index(paths, progress)"),
    "read": ("reader", {"read": own("question")}, "read(question, passages)"),
    "generate": ("reader", {"generate": own("messages")}, "generate(messages, decoding)"),
    "score": ("evaluator", {"score": own("texts")}, "score(question, texts)"),
    "score-with-needs": (
        "evaluator",
        {"score": own("question", "texts"), "needs": frozenset({"generate"})},
        "score(question, texts, toolbox)",
    ),
    "answer": ("strategy", {"answer": own("question"), "needs": frozenset()}, "answer(question, toolbox)"),
}


@pytest.mark.parametrize(("kind", "methods", "called"), SIGNATURES.values(), ids=SIGNATURES)
def test_a_method_that_the_host_cannot_call_is_the_one_finding(kind: str, methods: dict[str, Any], called: str) -> None:
    component = type("Component", (), methods)()
    (finding,) = [finding for finding in check(kind, component) if finding.state == "failed"]
    assert finding.detail.startswith(f"rqa calls `{called}`, but the method is `{called.partition('(')[0]}(")


def failures(kind: str, component: Any) -> list[str]:
    return [finding.name for finding in check(kind, component) if finding.state == "failed"]
