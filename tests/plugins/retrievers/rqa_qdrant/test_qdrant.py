"""The retriever `qdrant`, against a stand-in that follows the published format, with the packaged embedder."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from standins.openai import HTML, Fault, rate_limited
from standins.qdrant import Collection, serve
from standins.qdrant import Qdrant as Server

from robust_qa import (
    CallError,
    ConfigError,
    EmbedderHandle,
    Key,
    MissingError,
    Passage,
    RefusedError,
    ReplyError,
    UnavailableError,
    Url,
)
from robust_qa.testing import check, embedder_handle
from rqa_embedded import EmbeddedEmbedder
from rqa_qdrant import Qdrant

NOTES = {
    1: {"title": "Boiler", "text": "The boiler was last serviced by Ada Quill.", "date": "2024-05"},
    2: {"title": "Panda", "text": "A panda eats bamboo.", "source": "panda.md"},
    "d1b1a1e0-0000-4000-8000-000000000003": {"title": "Bread", "text": "Knead the dough for ten minutes."},
}
QUESTION = "Who serviced the boiler?"
Connect = Callable[..., Qdrant]


@pytest.fixture(scope="module")
def embedder() -> EmbedderHandle:
    return embedder_handle(EmbeddedEmbedder(EmbeddedEmbedder.Options(threads=1)))


@pytest.fixture(scope="module")
def notes(embedder: EmbedderHandle) -> Collection:
    texts = [str(payload["text"]) for payload in NOTES.values()]
    vectors = asyncio.run(embedder.embed(texts)).tolist()
    return Collection({"": len(vectors[0])}, dict(zip(NOTES, zip(vectors, NOTES.values(), strict=True), strict=True)))


@pytest.fixture
def server(notes: Collection) -> Iterator[Server]:
    with serve({"notes": notes}) as running:
        yield running


@pytest.fixture
async def connect(server: Server, embedder: EmbedderHandle) -> AsyncIterator[Connect]:
    """Return a function that makes retrievers for the collection `notes` of the server."""
    made: list[Qdrant] = []

    def make(**options: Any) -> Qdrant:
        given = {"url": Url(server.url), "collection": "notes", **options}
        made.append(Qdrant(Qdrant.Options(**given), embedder=embedder))
        return made[-1]

    yield make
    for retriever in made:
        await retriever.close()


def test_it_conforms(server: Server, embedder: EmbedderHandle) -> None:
    component = Qdrant(Qdrant.Options(url=Url(server.url), collection="notes"), embedder=embedder)
    findings = check("retriever", component, query=QUESTION, close=True)
    assert [str(finding) for finding in findings if finding.state != "passed"] == []


async def test_the_request_has_the_vector_of_the_question(
    server: Server, connect: Connect, embedder: EmbedderHandle
) -> None:
    await connect().retrieve(QUESTION, 3)
    (request,) = server.requests
    [vector] = await embedder.embed([QUESTION])
    assert request.path == "/collections/notes/points/query" and "api-key" not in request.headers
    assert request.body.pop("query") == pytest.approx(vector.tolist())
    assert request.body == {"limit": 3, "with_payload": ["text", "title", "source", "date"]}


async def test_the_nearest_points_become_passages(connect: Connect) -> None:
    boiler, *others = await connect().retrieve(QUESTION, 3)
    expected = Passage(NOTES[1]["text"], "notes/1", "Boiler", "notes/1", boiler.score, date="2024-05")
    assert boiler == expected
    assert {passage.source for passage in others} == {"panda.md", "notes/d1b1a1e0-0000-4000-8000-000000000003"}
    assert boiler.score > others[0].score > others[1].score


async def test_payload_fields_have_other_names(server: Server, notes: Collection, connect: Connect) -> None:
    (vector, _), *_ = notes.points.values()
    payload = {"page_content": "Ada serviced it.", "metadata": {"source": "log.md", "title": "Log"}}
    server.collections = {"notes": Collection(notes.sizes, {1: (vector, payload)})}
    fields = {"text": "page_content", "title": "metadata.title", "source": "metadata.source"}
    (passage,) = await connect(**fields).retrieve(QUESTION, 3)
    assert passage == Passage("Ada serviced it.", "notes/1", "Log", "log.md", passage.score)


async def test_a_named_vector_is_used(server: Server, notes: Collection, connect: Connect) -> None:
    server.collections = {"notes": Collection({"body": notes.sizes[""], "title": 2}, notes.points)}
    assert (await connect(using="body").retrieve(QUESTION, 1))[0].title == "Boiler"
    for options in ({}, {"using": "text"}):
        with pytest.raises(RefusedError, match="Not existing vector name") as caught:
            await connect(**options).retrieve(QUESTION, 1)
        assert "Set `using` to the name of a vector" in caught.value.hint and caught.value.general


async def test_the_embedder_has_to_fit(server: Server, notes: Collection, connect: Connect) -> None:
    server.collections = {"notes": Collection({"": 768}, {})}
    message = f"collection 'notes' have 768 numbers, those of the embedder 'test' have {notes.sizes['']}"
    with pytest.raises(ConfigError, match=message) as caught:
        await connect().retrieve(QUESTION, 1)
    assert "Set `embedder`" in caught.value.hint and caught.value.general


async def test_the_key_is_sent_in_its_header(server: Server, connect: Connect) -> None:
    server.key = "s3cr3t"
    assert await connect(key=Key("qdrant", "s3cr3t", server.url)).retrieve(QUESTION, 1)
    with pytest.raises(RefusedError, match="status 401: Must provide an API key") as caught:
        await connect().retrieve(QUESTION, 1)
    assert "rqa sent no key" in caught.value.hint


async def test_a_missing_collection_is_a_missing_error(connect: Connect) -> None:
    with pytest.raises(MissingError, match="has no collection 'nope'") as caught:
        await connect(collection="nope").retrieve(QUESTION, 1)
    assert "/collections" in caught.value.hint and caught.value.general


@pytest.mark.parametrize(
    ("fault", "kind", "message", "hint"),
    [
        (Fault(404), RefusedError, "status 404: no message", r"Qdrant 1\.10 or newer"),
        (Fault(403, "Forbidden"), RefusedError, "status 403: Forbidden", "rqa keys set"),
        (Fault(500, {"status": {"error": "Service internal error"}}), UnavailableError, "Service internal error", ""),
        (rate_limited("3"), UnavailableError, "status 429", ""),
        (HTML, ReplyError, "did not return search results", "Check `url`"),
        (Fault(body={"result": [], "status": "ok"}), ReplyError, "did not return search results", "Check `url`"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else None,
)
async def test_a_failure_says_what_failed_and_what_to_do(
    fault: Fault, kind: type[CallError], message: str, hint: str, server: Server, connect: Connect
) -> None:
    server.faults = [fault]
    with pytest.raises(kind, match=message) as caught:
        await connect().retrieve(QUESTION, 5)
    assert hint.replace("\\", "") in caught.value.hint


def test_an_untrusted_file_cannot_direct_questions_to_a_server(rqa: Callable[..., Any]) -> None:
    Path("rqa.toml").write_text('[retriever.qdrant]\nurl = "https://evil.example"\ncollection = "x"\n', "utf-8")
    ended = rqa("ask", "-r", "qdrant", QUESTION)
    assert ended.code == 2 and "an untrusted file cannot send questions and passages to" in ended.err


def test_the_command_line_answers_with_the_default_embedder(
    server: Server, rqa: Callable[..., Any], tmp_path: Path
) -> None:
    config = tmp_path / "own.toml"
    config.write_text(f'[retriever.docs]\nplugin = "qdrant"\nurl = "{server.url}"\ncollection = "notes"\n', "utf-8")
    ended = rqa("--config", config, "ask", "--json", "-r", "docs", "Who last serviced the boiler?")
    assert ended.code == 0, ended.err
    answer = json.loads(ended.out)
    assert answer["answer"] == "Ada Quill" and answer["citations"][0]["source"] == "notes/1"
