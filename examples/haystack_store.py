"""A retriever over a document store of Haystack, for the retriever `haystack` of rqa.

    cd examples
    PYTHONPATH=. rqa ask -r haystack -O retriever.haystack.object=haystack_store:retriever "How much is a crossing?"

For OpenSearch, replace the two imports with those of `opensearch-haystack`: `OpenSearchDocumentStore(hosts=...)` and
`OpenSearchBM25Retriever`. For Qdrant, of `qdrant-haystack`: `QdrantDocumentStore` and `QdrantEmbeddingRetriever`, which
gets the question's vector from the `embedder` of the table. A store on a server needs no `write_documents` here.
"""

from __future__ import annotations

from haystack import Document
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore


def retriever() -> InMemoryBM25Retriever:
    """Return a retriever over three documents in memory. `source` is what rqa cites."""
    store = InMemoryDocumentStore()
    store.write_documents(
        [
            Document(content="A single crossing costs 4.20.", meta={"title": "Ferry", "source": "ferry.html"}),
            Document(content="The lighthouse was built in 1871.", meta={"title": "History", "source": "history.md"}),
            Document(content="Joan Pascoe was the last keeper.", meta={"title": "Keepers", "source": "keepers.md"}),
        ]
    )
    return InMemoryBM25Retriever(store)
