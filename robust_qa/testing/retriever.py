"""The conformance checks of retrievers."""

from __future__ import annotations

import asyncio
from typing import Any

from ..types import Passage
from .suite import ODD_TEXTS, Failed, Skipped, Subject, Suite, expect, fits

SUITE = Suite()


@SUITE.behaviour("it has a method `retrieve(query, k)`")
async def _shape(subject: Subject) -> None:
    subject.has("retrieve")


@SUITE.behaviour("it returns a list of passages")
async def _passages(subject: Subject) -> None:
    found = await subject.call("retrieve", subject.query, 5)
    expect(isinstance(found, list), f"it returned a {type(found).__name__}")
    for passage in found:
        expect(isinstance(passage, Passage), f"the list has a {type(passage).__name__}")


@SUITE.behaviour("it returns at most k passages")
async def _at_most_k(subject: Subject) -> None:
    for k in (1, 3):
        count = len(await _found(subject, k))
        expect(count <= k, f"{count} passages for k={k}")


@SUITE.behaviour("it returns the same first passages for any k")
async def _first_ones(subject: Subject) -> None:
    most = [(passage.id, passage.text) for passage in await _found(subject)]
    for k in (1, 3):
        fewer = [(passage.id, passage.text) for passage in await _found(subject, k)]
        ids = [[name for name, _ in passages] for passages in (fewer, most)]
        expect(fewer == most[: len(fewer)], f"the ids are {ids[0]} for k={k}, and {ids[1]} for k=5")


@SUITE.behaviour("its passages have text, and fields of the right types")
async def _fields(subject: Subject) -> None:
    found = await _found(subject)
    fits(found, list[Passage])
    for passage in found:
        expect(bool(passage.text.strip()), f"the text is {passage.text!r}")
        for name in ("text", "id", "title", "source"):
            expect(_encodes(getattr(passage, name)), f"`{name}` has a lone surrogate: decode with errors='replace'")


@SUITE.behaviour("no two of its passages have the same id")
async def _ids(subject: Subject) -> None:
    ids = [passage.id for passage in await _found(subject) if passage.id]
    expect(len(set(ids)) == len(ids), f"the ids are {ids}")


@SUITE.behaviour("it returns the most relevant passage first")
async def _ranked(subject: Subject) -> None:
    scores = [passage.score for passage in await _found(subject)]
    expect(scores == sorted(scores, reverse=True), f"the scores are {scores}; higher is better")


@SUITE.behaviour("it returns the same passages when called again")
async def _again(subject: Subject) -> None:
    before = list(await _found(subject))
    again = await subject.call("retrieve", subject.query, 5)
    ids = [[passage.id for passage in passages] for passages in (before, again)]
    expect(before == again, f"the ids were {ids[0]}, then {ids[1]}")


@SUITE.behaviour("it accepts any text as a query")
async def _any_text(subject: Subject) -> None:
    await subject.survives("retrieve", *((what, (text, 3)) for what, text in ODD_TEXTS))


@SUITE.behaviour("it handles two concurrent queries")
async def _at_once(subject: Subject) -> None:
    if getattr(subject.component, "concurrency", None) == 1:
        raise Skipped("its `concurrency` is 1")
    queries = (subject.query, f"{subject.query} And then?")
    sequential = [await subject.call("retrieve", query, 5) for query in queries]
    together = await asyncio.gather(*(subject.call("retrieve", query, 5) for query in queries))
    if sequential != together:
        raise Failed("concurrent queries returned other passages than sequential ones")


async def _found(subject: Subject, k: int = 5) -> Any:
    found = await subject.call("retrieve", subject.query, k)
    if not found:
        raise Skipped(f"it found nothing for {subject.query!r}")
    return found


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
