"""The evaluator `rerank`: relevance from any rerank endpoint.

llama-server, vLLM, Jina and Cohere share the wire format (https://docs.cohere.com/reference/rerank).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import Meta

from robust_qa import Key, Url

from .client import Client
from .embeddings import Entry, by_index
from .replies import decoded

_PAGE = "/rerank"


class Reranker:
    """Relevance by a reranking model behind an endpoint. Each call is one attempt."""

    @dataclass
    class Options:
        model: Annotated[str, Meta(min_length=1)]  # the model's name at the endpoint
        base_url: Url  # the endpoint's address without /rerank
        key: Key | None = None  # name of a stored key; by default no key is sent

    def __init__(self, options: Options) -> None:
        """Raises MissingError if the key is not stored, ConfigError if it is bound to another host."""
        self._client = Client(options.model, str(options.base_url), options.key, _PAGE)

    async def score(self, question: str, texts: list[str]) -> list[float]:
        """Return 2p - 1 for each text, where p is its relevance from 0 to 1.

        Raises UnavailableError or CallTimeout if a retry may help, RefusedError if it will not, ContextError if a
        text exceeds the model's window, and ReplyError if the reply is not a list of scores.
        """
        if not texts:
            return []
        # Some endpoints reject an empty text.
        fields = {"query": question or " ", "documents": [text or " " for text in texts], "top_n": len(texts)}
        reply, _ = await self._client.request(_PAGE, lambda _: fields)
        body = decoded(_decoder, "list of scores", reply, self._client.endpoint)
        results = by_index("scores", body.results, len(texts), reply, self._client.endpoint)
        return [2 * p - 1 for p in _probabilities([result.relevance_score for result in results])]

    async def close(self) -> None:
        await self._client.close()


class _Result(Entry):
    relevance_score: float


class _Body(msgspec.Struct):
    results: list[_Result]


_decoder = msgspec.json.Decoder(_Body)


def _probabilities(scores: list[float]) -> list[float]:
    """Return the logistic function of `scores` if one of them is not a probability: then they are logits."""
    if all(0 <= score <= 1 for score in scores):
        return scores
    return [0.5 + 0.5 * math.tanh(score / 2) for score in scores]
