"""The other way round: a retriever for LlamaIndex that finds its nodes with rqa."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from robust_qa import Question, open_session


class RqaRetriever(BaseRetriever):
    """Returns the passages that rqa finds as nodes, the most relevant first.

    `how`: the arguments of `robust_qa.open_session`, such as `docs="handbook/"` and `k=5`.
    """

    def __init__(self, **how: Any) -> None:
        super().__init__()
        self._how = how

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        query = query_bundle.query_str
        async with open_session(**self._how) as session:
            found = await session.toolbox_for(Question(query)).retrieve(query)
        return [
            NodeWithScore(
                node=TextNode(text=each.text, id_=each.id, metadata={"title": each.title, "source": each.source}),
                score=each.score,
            )
            for each in found
        ]

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        with ThreadPoolExecutor(1) as pool:  # a notebook has an event loop in this thread
            return pool.submit(asyncio.run, self._aretrieve(query_bundle)).result()
