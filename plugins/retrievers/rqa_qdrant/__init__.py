"""Retriever `qdrant`: passages from a collection of Qdrant, by vectors.

    [retriever.docs]
    plugin = "qdrant"
    url = "https://qdrant.example.org:6333"
    collection = "docs"
    key = "qdrant"

The request is "Query points" (https://api.qdrant.tech/api-reference/search/query-points), which Qdrant has since
version 1.10. It only reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from msgspec import Meta, Struct

from robust_qa import ConfigError, EmbedderName, Key, MissingError, Passage, RqaError, Url
from robust_qa.kit import DocumentFields, JsonReply, JsonServer, whole_characters

if TYPE_CHECKING:
    from robust_qa import EmbedderHandle

_DIMENSION = re.compile(r"expected dim: (\d+), got (\d+)")


class Qdrant:
    """The points nearest to the question's vector.

    `Passage.score` is the server's score. Distances are negative, so that a higher score is better.
    """

    cached = False  # the collection may change

    @dataclass(kw_only=True)
    class Options(DocumentFields):
        """The collection, the vectors that are compared, and the fields of its payloads."""

        url: Url  # the server's address
        collection: Annotated[str, Meta(min_length=1)]  # a collection or an alias
        key: Key | None = None  # name of a stored API key; by default no key is sent
        embedder: EmbedderName | None = None  # has to be the model of the collection; default: the one in [defaults]
        using: str | None = None  # name of the vector, if the collection has named vectors

    def __init__(self, options: Options, *, embedder: EmbedderHandle) -> None:
        """Raises MissingError if the key is not stored, ConfigError if it is bound to another server."""
        self._options, self._embedder = options, embedder
        self._server = JsonServer("Qdrant", options.url, options.key, lambda secret: {"api-key": secret})

    async def retrieve(self, query: str, k: int) -> list[Passage]:
        """Return the `k` nearest points.

        Raises MissingError if there is no collection, ConfigError if its vectors do not fit the embedder's or no
        point has text, UnavailableError or CallTimeout if a retry may help, RefusedError if it will not, and
        ReplyError if the reply is not a list of points.
        """
        question = whole_characters(query)
        if not question.strip() or k < 1:
            return []
        vector = await self._embedder.embed_query(question)
        request = {"query": vector.tolist(), "limit": k, "with_payload": self._options.document_fields}
        if self._options.using:
            request["using"] = self._options.using
        reply = await self._server.post(f"collections/{quote(self._options.collection, safe='')}/points/query", request)
        if reply.status != 200:
            raise self._error(reply)
        points = reply.decoded(_Found).result.points
        # Euclidean and Manhattan distances grow from the nearest point on.
        sign = -1 if points and points[0].score < points[-1].score else 1
        documents = (
            (f"{self._options.collection}/{point.id}", sign * point.score, point.payload or {}) for point in points
        )
        return self._options.passages(documents, self._server.name)

    async def close(self) -> None:
        await self._server.close()

    def _error(self, reply: JsonReply) -> RqaError:
        collection, message = self._options.collection, _message(reply.json)
        if reply.status == 404 and message:
            return MissingError(
                f"{self._server.name} has no collection {collection!r}.",
                hint="Correct the option `collection`. The server lists its collections at /collections.",
                general=True,
            )
        if reply.status == 404:
            return self._server.refusal(reply, "", hint="Check `url`. Qdrant 1.10 or newer is needed.")
        if match := _DIMENSION.search(message):
            return ConfigError(
                f"The vectors of the collection {collection!r} have {match[1]} numbers, those of the embedder "
                f"{self._embedder.name!r} have {match[2]}.",
                hint="Set `embedder` to the model that made the collection's vectors, or `using` to another vector.",
                general=True,
            )
        if "vector name" in message:
            hint = f"Set `using` to the name of a vector. The server lists them at /collections/{collection}."
            return self._server.refusal(reply, message, hint=hint, general=True)
        return self._server.refusal(reply, message)


class _Point(Struct):
    id: int | str
    score: float
    payload: dict[str, Any] | None = None


class _Points(Struct):
    points: list[_Point]


class _Found(Struct):
    result: _Points


def _message(body: Any) -> str:
    """Return the message in an error, "" if the body has another form."""
    status = body.get("status") if isinstance(body, Mapping) else None
    return str(status.get("error") or "") if isinstance(status, Mapping) else ""
