"""The conformance checks of retrievers."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from robust_qa import Passage

from .suite import ODD_TEXTS, Skipped, Subject, Suite, expect, fits

SUITE = Suite()
FILTERS = {"within": "no/such/folder", "types": "nosuchtype", "since": "9999-12-31", "title": "nosuchtitle"}
"""Options of retrievers that filter what is searched, each with a value that leaves nothing."""


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


@SUITE.behaviour("no two of its passages have the same id")
async def _ids(subject: Subject) -> None:
    ids = [passage.id for passage in await _found(subject) if passage.id]
    expect(len(set(ids)) == len(ids), f"the ids are {ids}")


@SUITE.behaviour("it returns the most relevant passage first")
async def _ranked(subject: Subject) -> None:
    scores = [passage.score for passage in await _found(subject)]
    expect(scores == sorted(scores, reverse=True), f"the scores are {scores}; higher is better")


@SUITE.behaviour("it accepts any text as a query")
async def _any_text(subject: Subject) -> None:
    await subject.survives("retrieve", *((what, (text, 3)) for what, text in ODD_TEXTS))


@SUITE.behaviour("it handles two concurrent queries")
async def _at_once(subject: Subject) -> None:
    queries = (subject.query, f"{subject.query} And then?")
    for one, other in await subject.alone_and_together(lambda query: subject.call("retrieve", query, 5), queries):
        expect(one == other, "concurrent queries returned other passages than sequential ones")


@SUITE.behaviour("its filters, if it has any, leave out passages")
async def _filters(subject: Subject) -> None:
    for name in sorted(subject.options & FILTERS.keys()):
        await _found(subject)
        found = await subject.made(**{name: FILTERS[name]}).call("retrieve", subject.query, 5)
        expect(not found, f"with the option {name} = {FILTERS[name]!r} it returned {len(found)} passages")


@SUITE.behaviour("it finds what its index holds now, and its `fingerprint` changes", of="index")
async def _changed(subject: Subject) -> None:
    if "index" not in subject.options:
        raise Skipped("it has no option `index`, the folder of another index")
    with TemporaryDirectory() as folder:
        document, index = Path(folder, "prices.txt"), Path(folder, "index")
        fingerprints = set()
        for price in ("4.20", "19.90"):
            document.write_text(f"{subject.query} It costs {price}.", "utf-8")  # noqa: ASYNC240  (a small file)
            await subject.made(index=str(index)).call("index", [document], None)
            again = subject.made(index=str(index))
            texts = [passage.text for passage in await again.call("retrieve", subject.query, 5)]
            expect(any(price in text for text in texts), f"a document says {price} now, but it returned {texts}")
            fingerprints.add(getattr(again.component, "fingerprint", object)())  # without one, nothing is cached
    expect(len(fingerprints) == 2, f"`fingerprint` stays {fingerprints}, so rqa returns old passages from its cache")


async def _found(subject: Subject, k: int = 5) -> Any:
    found = await subject.call("retrieve", subject.query, k)
    if not found:
        raise Skipped(f"it found nothing for {subject.query!r}")
    return found
