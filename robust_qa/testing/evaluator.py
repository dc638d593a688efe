"""What the host relies on in an evaluator."""

from __future__ import annotations

import asyncio

from .conformance import Skipped, Subject, Suite, expect, fits
from .samples import ODD_TEXTS, PASSAGES, QUESTION

SUITE = Suite()
TEXTS = [passage.text for passage in PASSAGES]
NEAR = 0.02  # quantised engines move scores a little with the batch they stand in


@SUITE.behaviour("it has a method `score(question, texts)`")
async def _shape(subject: Subject) -> None:
    expect(not isinstance(subject.component, type), "this is the class: make an instance of it")
    expect(callable(getattr(subject.component, "score", None)), "it has none")


@SUITE.behaviour("it returns a list of one score in [-1, 1] for each text")
async def _scores(subject: Subject) -> None:
    fits(await subject.call("score", QUESTION, list(TEXTS)), list[float], QUESTION, TEXTS)
    fits(await subject.call("score", QUESTION, TEXTS[:1]), list[float], QUESTION, TEXTS[:1])


@SUITE.behaviour("its scores stand in the order of the texts")
async def _order(subject: Subject) -> None:
    straight = await subject.call("score", QUESTION, list(TEXTS))
    reverse = await subject.call("score", QUESTION, TEXTS[::-1])
    expect(_close(straight, reverse[::-1]), f"{straight}, and {reverse} for the texts in reverse")


@SUITE.behaviour("it scores no texts with an empty list")
async def _nothing(subject: Subject) -> None:
    scores = await subject.call("score", QUESTION, [])
    expect(scores == [], f"it returned {scores!r}")


@SUITE.behaviour("it scores any text, for any question")
async def _any_text(subject: Subject) -> None:
    odd = [text for _, text in ODD_TEXTS]
    await subject.survives(
        "score",
        *((what, (QUESTION, [text])) for what, text in ODD_TEXTS),
        *((f"{what} as question", (text, TEXTS[:1])) for what, text in ODD_TEXTS),
    )
    fits(await subject.call("score", QUESTION, odd), list[float], QUESTION, odd)


@SUITE.behaviour("it leaves the list of texts as it was")
async def _unchanged(subject: Subject) -> None:
    texts = list(TEXTS)
    await subject.call("score", QUESTION, texts)
    expect(texts == TEXTS, "the list was changed")


@SUITE.behaviour("it scores two questions at once")
async def _at_once(subject: Subject) -> None:
    if getattr(subject.component, "concurrency", None) == 1:
        raise Skipped("its `concurrency` is 1")
    questions = (QUESTION, "Where do moles live?")
    alone = [await subject.call("score", question, list(TEXTS)) for question in questions]
    together = await asyncio.gather(*(subject.call("score", question, list(TEXTS)) for question in questions))
    for one, other in zip(alone, together, strict=True):
        expect(_close(one, other), f"{one} alone, {other} beside another question")


@SUITE.behaviour("`score_many` gives what `score` gives", of="score_many")
async def _many(subject: Subject) -> None:
    requests = [(QUESTION, list(TEXTS)), ("Where do moles live?", TEXTS[2:]), (QUESTION, [])]
    many = await subject.call("score_many", list(requests))
    expect(len(many) == len(requests), f"{len(many)} lists for {len(requests)} requests")
    for (question, texts), scores in zip(requests, many, strict=True):
        alone = await subject.call("score", question, texts)
        expect(_close(alone, scores), f"`score` gives {alone}, `score_many` {scores}")


def _close(one: list[float], other: list[float]) -> bool:
    return len(one) == len(other) and all(abs(a - b) <= NEAR for a, b in zip(one, other, strict=True))
