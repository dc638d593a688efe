"""Retrievers `langchain` and `haystack`, and reader `langchain`: parts of these frameworks that you have already.

    [retriever.handbook]
    plugin = "langchain"
    object = "our_app.search:make_retriever"

The object is the part itself, or a function without arguments that makes it.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from robust_qa import (
    Completion,
    ConfigError,
    Decoding,
    EmbedderName,
    Message,
    Passage,
    Registry,
    Trusted,
    Usage,
    hookimpl,
)

if TYPE_CHECKING:
    from robust_qa import EmbedderHandle

_ROLES = {"system": "system", "user": "human", "assistant": "ai"}


@dataclass
class Part:
    """Which part to use."""

    object: Annotated[Trusted, Meta(pattern=r"^[\w.]+:\w+$")]  # MODULE:NAME of the part, or of a function that makes it


class LangChainRetriever:
    """Any retriever of LangChain. Its own settings say how many passages it finds at most."""

    Options = Part

    def __init__(self, options: Part) -> None:
        """Raises ConfigError if the object cannot be imported or is no retriever."""
        self._retriever = _made(options.object, "ainvoke")

    async def retrieve(self, query: str, k: int) -> list[Passage]:
        """Return up to `k` documents as passages, in the retriever's order."""
        found = await self._retriever.ainvoke(query)
        return [_passage(each.page_content, each.id, each.metadata) for each in found[:k]]


class LangChainModel:
    """Any chat model of LangChain."""

    Options = Part

    def __init__(self, options: Part) -> None:
        """Raises ConfigError if the object cannot be imported or is no chat model."""
        self._model = _made(options.object, "ainvoke")

    async def generate(self, messages: list[Message], decoding: Decoding) -> Completion:
        """Return the model's reply. Of `decoding`, it follows temperature, seed, length and stop words if it can."""
        asked = {"temperature": decoding.temperature, "max_tokens": decoding.max_tokens, "seed": decoding.seed}
        settings = {name: value for name, value in asked.items() if value is not None}
        given = [(_ROLES[message.role], message.content) for message in messages]
        reply = await self._model.ainvoke(given, stop=list(decoding.stop) or None, **settings)
        used = reply.usage_metadata or {}
        text = str(reply.text)
        for mark in decoding.stop:  # some models ignore it
            text = text.partition(mark)[0]
        cut = reply.response_metadata.get("finish_reason") == "length"
        return Completion(
            text,
            Usage(1, used.get("input_tokens", 0), used.get("output_tokens", 0)),
            "length" if cut else "stop",
        )


class HaystackRetriever:
    """Any retriever of Haystack, and with it any document store. It gets the question, or its vector."""

    @dataclass
    class Options(Part):
        """Which part, and the vectors that it compares."""

        embedder: EmbedderName | None = None  # has to be the model of the store; default: the one in [defaults]

    def __init__(self, options: Options, *, embedder: EmbedderHandle) -> None:
        """Raises ConfigError if the object cannot be imported or is no retriever."""
        self._retriever, self._embedder = _made(options.object, "run"), embedder
        self._by_vector = "query_embedding" in inspect.signature(self._retriever.run).parameters

    async def retrieve(self, query: str, k: int) -> list[Passage]:
        """Return up to `k` documents with text as passages, in the retriever's order."""
        if self._by_vector:
            vector = await self._embedder.embed_query(query)
            asked = {"query_embedding": vector.tolist()}
        else:
            asked = {"query": query}
        result = await asyncio.to_thread(lambda: self._retriever.run(**asked, top_k=k))
        found = result["documents"]
        return [_passage(each.content, each.id, each.meta, each.score or 0.0) for each in found if each.content][:k]


def _passage(text: str, id: str | None, meta: Mapping[str, Any], score: float = 0.0) -> Passage:
    source = meta.get("source") or meta.get("url") or meta.get("file_path") or ""
    return Passage(text, id or "", str(meta.get("title") or ""), str(source), float(score))


def _made(name: str, method: str) -> Any:
    """Return the part that MODULE:NAME is or makes."""
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"Cannot import {name}: {error}.",
            hint="Install its module beside rqa, or name the folder of the module in PYTHONPATH.",
        ) from error
    part = found if hasattr(found, method) and not isinstance(found, type) else found()
    if not hasattr(part, method):
        raise ConfigError(
            f"{name} has no method `{method}`.", hint="Name a part of the framework that the plugin is for."
        )
    return part


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.retriever("langchain", "rqa_frameworks:LangChainRetriever", summary="any retriever of LangChain")
    registry.retriever(
        "haystack", "rqa_frameworks:HaystackRetriever", summary="any retriever of Haystack, over any of its stores"
    )
    registry.reader("langchain", "rqa_frameworks:LangChainModel", summary="any chat model of LangChain")
