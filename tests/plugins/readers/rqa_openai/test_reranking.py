"""The evaluator `rerank`, against a scripted server."""

from __future__ import annotations

import math
from typing import Any

import pytest
from standins.openai import error, serve

from robust_qa import ContextError, RefusedError, ReplyError, Url
from robust_qa.kit import words
from robust_qa.testing import check
from rqa_openai.reranking import Reranker


def results(*scores: float) -> dict[str, Any]:
    """A whole reply, the best first."""
    found = [{"index": n, "relevance_score": score} for n, score in enumerate(scores)]
    return {"model": "m", "results": sorted(found, key=lambda each: -each["relevance_score"])}


def shared(request: dict[str, Any], number: int) -> dict[str, Any]:
    wanted = set(words(request["query"]))
    return results(*(len(wanted & set(words(text))) / max(len(wanted), 1) for text in request["documents"]))


def test_it_conforms() -> None:
    with serve(shared) as server:
        component = Reranker(Reranker.Options(model="m", base_url=Url(server.url)))
        findings = check("evaluator", component, close=True)
    assert [str(finding) for finding in findings if finding.state == "failed"] == []


async def test_the_request_has_the_question_and_all_texts(connect: Any) -> None:
    with serve(lambda request, n: results(0.25, 1.0)) as server:
        scores = await connect(f"{server.url}/rerank", Reranker).score("Who?", ["", "Ada"])
    (request,) = server.requests
    assert request.path == "/v1/rerank"
    assert request.body == {"model": "qwen", "query": "Who?", "documents": [" ", "Ada"], "top_n": 2}
    assert scores == [-0.5, 1.0]


async def test_scores_outside_0_to_1_are_logits_for_the_whole_reply(connect: Any) -> None:
    with serve(lambda request, n: results(0.5, -3.0, 800.0, -800.0)) as server:
        scores = await connect(server.url, Reranker).score("Who?", ["a", "b", "c", "d"])
    expected = [2 / (1 + math.exp(-0.5)) - 1, 2 / (1 + math.exp(3.0)) - 1, 1.0, -1.0]
    assert scores == pytest.approx(expected)


@pytest.mark.parametrize(
    "reply",
    [results(0.5), {"results": [{"index": 1, "relevance_score": 0.1}] * 2}],
    ids=["too few", "the same twice"],
)
async def test_an_invalid_reply_is_an_error(connect: Any, reply: dict[str, Any]) -> None:
    with serve(lambda request, n: reply) as server, pytest.raises(ReplyError, match="scores"):
        await connect(server.url, Reranker).score("Who?", ["a", "b"])


@pytest.mark.parametrize(
    ("reply", "expected", "hint"),
    [
        (error(404, "no such page"), RefusedError, "/rerank, which not every endpoint has"),
        (error(400, "The prompt is too long"), ContextError, "shorter passages"),
    ],
)
async def test_refusals_become_the_errors_of_the_reader(
    connect: Any, reply: Any, expected: type[Exception], hint: str
) -> None:
    with serve(lambda request, n: reply) as server, pytest.raises(expected) as raised:
        await connect(server.url, Reranker).score("Who?", ["a"])
    assert hint in raised.value.hint  # type: ignore[attr-defined]
