"""The conformance checks of evaluators."""

from __future__ import annotations

from .suite import ODD_TEXTS, PASSAGES, QUESTION, Subject, Suite, expect, fits

SUITE = Suite()
TEXTS = [passage.text for passage in PASSAGES]
TOLERANCE = 0.02  # scores of quantised models depend a little on their batch


@SUITE.behaviour("it has a method `score(question, texts)`")
async def _shape(subject: Subject) -> None:
    subject.has("score")


@SUITE.behaviour("it returns a list of one score in [-1, 1] for each text")
async def _scores(subject: Subject) -> None:
    fits(await subject.call("score", QUESTION, list(TEXTS)), list[float], QUESTION, TEXTS)
    fits(await subject.call("score", QUESTION, TEXTS[:1]), list[float], QUESTION, TEXTS[:1])


@SUITE.behaviour("it returns the scores in the order of the texts")
async def _order(subject: Subject) -> None:
    straight = await subject.call("score", QUESTION, list(TEXTS))
    reverse = await subject.call("score", QUESTION, TEXTS[::-1])
    expect(_close(straight, reverse[::-1]), f"the scores are {straight}, and {reverse} for the texts in reverse order")


@SUITE.behaviour("it accepts any text and any question")
async def _any_text(subject: Subject) -> None:
    odd = [text for _, text in ODD_TEXTS]
    await subject.survives(
        "score",
        *((what, (QUESTION, [text])) for what, text in ODD_TEXTS),
        *((f"{what} as question", (text, TEXTS[:1])) for what, text in ODD_TEXTS),
    )
    fits(await subject.call("score", QUESTION, odd), list[float], QUESTION, odd)


@SUITE.behaviour("it handles two concurrent questions")
async def _at_once(subject: Subject) -> None:
    questions = (QUESTION, "Where do moles live?")
    for one, other in await subject.alone_and_together(
        lambda each: subject.call("score", each, list(TEXTS)), questions
    ):
        expect(_close(one, other), f"the scores are {one} alone, and {other} in a concurrent call")


@SUITE.behaviour("`score_many` returns the same scores as `score`", of="score_many")
async def _many(subject: Subject) -> None:
    requests = [(QUESTION, list(TEXTS)), ("Where do moles live?", TEXTS[2:])]
    many = await subject.call("score_many", list(requests))
    expect(len(many) == len(requests), f"it returned {len(many)} lists for {len(requests)} requests")
    for (question, texts), scores in zip(requests, many, strict=True):
        single = await subject.call("score", question, texts)
        expect(_close(single, scores), f"`score` returns {single}, and `score_many` {scores}")


def _close(one: list[float], other: list[float]) -> bool:
    return len(one) == len(other) and all(abs(a - b) <= TOLERANCE for a, b in zip(one, other, strict=True))
