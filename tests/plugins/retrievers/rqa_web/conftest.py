from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from standins.web import Web, serve

from robust_qa import Passage
from robust_qa.testing import toolbox
from rqa_web import Web as WebRetriever


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def web() -> Iterator[Web]:
    """A server in place of providers and sites."""
    with serve() as running:
        yield running


Connect = Callable[..., WebRetriever]


@pytest.fixture
async def connect(web: Web) -> AsyncIterator[Connect]:
    """Return a function that makes retrievers. By default they use SearXNG at the server and may read its pages."""
    made: list[WebRetriever] = []

    def make(**options: Any) -> WebRetriever:
        searxng = {} if "provider" in options else {"provider": "searxng", "base_url": web.url}
        made.append(WebRetriever(WebRetriever.Options(**{"private": True, **searxng, **options})))
        return made[-1]

    yield make
    for retriever in made:
        await retriever.close()


Found = tuple[list[Passage], list[str]]


@pytest.fixture
def search() -> Callable[..., Any]:
    """Return a function that returns passages and warnings of a retriever, called through the toolbox."""

    async def ask(retriever: WebRetriever, query: str = "when was the lighthouse built", k: int = 10) -> Found:
        tools = toolbox(query, retriever=retriever)
        passages = await tools.retrieve(k=k)
        return passages, list(tools.trace.steps[-1].data.get("remarks", ()))

    return ask
