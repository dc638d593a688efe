"""The embedder `openai`: vectors from any endpoint with OpenAI's embeddings.

The wire format is OpenAI's "Create embeddings" (https://platform.openai.com/docs/api-reference/embeddings/create).
Ollama, vLLM and llama-server support it too.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from robust_qa import Key, Url

from .client import Client
from .dialect import Dialect
from .replies import Endpoint, Reply, decoded, invalid_reply

_PAGE = "/embeddings"


class Embeddings:
    """Vectors from a model behind an endpoint. Each call is one attempt."""

    @dataclass
    class Options:
        model: Annotated[str, Meta(min_length=1)]  # the model's name at the endpoint
        # the endpoint's address without /embeddings
        base_url: Url = Url("https://api.openai.com/v1")  # noqa: RUF009
        key: Key | None = None  # name of a stored key; by default no key is sent
        dimensions: Annotated[int, Meta(ge=1)] | None = None  # width of a vector; by default the model's own
        batch: Annotated[int, Meta(ge=1)] = 64  # maximum number of texts in a request

    def __init__(self, options: Options) -> None:
        """Raises MissingError if the key is not stored, ConfigError if it is bound to another host."""
        self._batch = options.batch
        self._dimensions = options.dimensions
        self._client = Client(options.model, str(options.base_url), options.key, _PAGE)

    async def embed(self, texts: list[str]) -> list[list[float]]:
        """Return a vector for each text.

        Raises UnavailableError or CallTimeout if a retry may help, RefusedError if it will not, ContextError if a
        text exceeds the model's window, and ReplyError if the reply is not a list of vectors.
        """
        parts = [texts[start : start + self._batch] for start in range(0, len(texts), self._batch)]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._embed(part)) for part in parts]
        return [vector for task in tasks for vector in task.result()]

    async def _embed(self, texts: list[str]) -> list[list[float]]:
        fields = {"encoding_format": "float", "dimensions": self._dimensions}
        inputs = [text or " " for text in texts]  # OpenAI rejects an empty text

        def build(dialect: Dialect) -> dict[str, object]:
            return {"input": inputs, **dialect.accepted(fields)}

        reply, _ = await self._client.request(_PAGE, build)
        body = decoded(_decoder, "list of embeddings", reply, self._client.endpoint)
        entries = by_index("embeddings", body.data, len(texts), reply, self._client.endpoint)
        return [entry.embedding for entry in entries]

    async def close(self) -> None:
        await self._client.close()


class Entry(msgspec.Struct):
    """What a reply has for one text, by the position of the text in the request."""

    index: int


class _Embedding(Entry):
    embedding: list[float]


class _Body(msgspec.Struct):
    data: list[_Embedding]


T = TypeVar("T", bound=Entry)
_decoder = msgspec.json.Decoder(_Body)


def by_index(what: str, entries: list[T], number: int, reply: Reply, endpoint: Endpoint) -> list[T]:
    """Return `entries` in the order of the texts. Raises ReplyError unless there is one for each of `number` texts."""
    ordered = sorted(entries, key=lambda entry: entry.index)
    if [entry.index for entry in ordered] != list(range(number)):
        raise invalid_reply(f"{len(entries)} {what} for {number} texts, or with wrong indexes", reply, endpoint)
    return ordered
