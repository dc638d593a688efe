"""Retrievers `bm25` and `hybrid`: passages from your own files, in an index on disk.

    rqa index notes/ papers/*.pdf wiki.tsv     # reads only new and changed files
    rqa ask "Who wrote it?"

`retriever` ranks by BM25, `hybrid` by BM25 and vectors. `analysis` splits text into words, `index` searches the tantivy
index, `vectors` the vectors, and `indexing` updates the index. `robust_qa.documents` reads the files and cuts them into
passages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from robust_qa import hookimpl
from rqa_bm25.hybrid import Hybrid
from rqa_bm25.retriever import Bm25, Language

if TYPE_CHECKING:
    from robust_qa import Registry

__all__ = ["Bm25", "Hybrid", "Language"]


@hookimpl
def rqa_register(registry: Registry) -> None:
    registry.retriever("bm25", Bm25, rank=10, summary="BM25 over your own files, indexed on disk")
    registry.retriever("hybrid", Hybrid, rank=20, summary="BM25 and vectors over your own files, indexed on disk")
