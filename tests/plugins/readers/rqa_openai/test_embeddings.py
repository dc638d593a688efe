"""The embedder `openai`, against a scripted server."""

from __future__ import annotations

from typing import Any

import pytest
from standins.openai import error, serve

from robust_qa import Key, RefusedError, ReplyError, Url
from robust_qa.testing import check
from rqa_openai.embeddings import Embeddings


def embeddings(*vectors: list[float]) -> dict[str, Any]:
    """A whole reply, the last vector first."""
    data = [{"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(vectors)]
    return {"object": "list", "data": data[::-1], "model": "m", "usage": {"prompt_tokens": 3, "total_tokens": 3}}


def lengths(request: dict[str, Any], number: int) -> dict[str, Any]:
    return embeddings(*([len(text), 20.0, len(text) % 7] for text in request["input"]))


async def failure(embedder: Embeddings, texts: list[str], kind: type[Exception]) -> Any:
    """The error of the one batch of these texts."""
    with pytest.raises(ExceptionGroup) as group:
        await embedder.embed(texts)
    (error,) = group.value.exceptions
    assert type(error) is kind
    return error


def test_it_conforms() -> None:
    with serve(lengths) as server:
        component = Embeddings(Embeddings.Options(model="m", base_url=Url(server.url)))
        findings = check("embedder", component, close=True)
    assert [str(finding) for finding in findings if finding.state == "failed"] == []


async def test_the_request_names_the_model_and_asks_for_floats(connect: Any) -> None:
    with serve(lengths) as server:
        vectors = await connect(server.url, Embeddings, dimensions=3).embed(["a", ""])
    (request,) = server.requests
    assert request.path == "/v1/embeddings" and "authorization" not in request.headers
    assert request.body == {"model": "qwen", "input": ["a", " "], "encoding_format": "float", "dimensions": 3}
    assert vectors == [[1, 20, 1], [1, 20, 1]]


async def test_texts_are_sent_in_batches_and_vectors_sorted_by_index(connect: Any) -> None:
    texts = ["a" * n for n in range(1, 6)]
    with serve(lengths, latency=0.01) as server:
        vectors = await connect(f"{server.url}/embeddings/", Embeddings, batch=2).embed(texts)
    assert sorted(len(request.body["input"]) for request in server.requests) == [1, 2, 2]
    assert [vector[0] for vector in vectors] == [1, 2, 3, 4, 5]
    assert server.peak > 1


async def test_the_key_is_sent(connect: Any) -> None:
    with serve(lambda request, n: error(401, "Wrong key secret-of-mine")) as server:
        embedder = connect(server.url, Embeddings, key=Key("mine", "secret-of-mine"))
        refused = await failure(embedder, ["a"], RefusedError)
    assert server.requests[0].headers["authorization"] == "Bearer secret-of-mine"
    assert "secret" not in refused.message and refused.general


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (embeddings([1.0]), "1 embeddings for 2 texts"),
        ({"data": [{"index": 0, "embedding": [1.0]}] * 2}, "2 embeddings for 2 texts, or with wrong indexes"),
        ({"data": [{"index": 0, "embedding": "AACAPw=="}]}, "not a list of embeddings"),
    ],
)
async def test_an_invalid_reply_is_an_error(connect: Any, reply: dict[str, Any], problem: str) -> None:
    with serve(lambda request, n: reply) as server:
        assert problem in (await failure(connect(server.url, Embeddings), ["a", "b"], ReplyError)).message
