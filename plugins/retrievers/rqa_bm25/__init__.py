"""Retrievers `bm25` and `hybrid`: passages from your own files, in an index on disk.

    rqa index notes/ papers/*.pdf wiki.tsv     # reads only new and changed files
    rqa ask "Who wrote it?"

`retriever` ranks by BM25, `hybrid` by BM25 and vectors. `analysis` splits text into words, `index` searches the tantivy
index, `vectors` the vectors, and `indexing` updates the index. `rqa_files` reads the files and cuts them into
passages.
"""

from __future__ import annotations

from robust_qa import Registry, hookimpl

from .hybrid import Hybrid
from .retriever import Bm25, Language

__all__ = ["Bm25", "Hybrid", "Language"]


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.retriever(
        "hybrid", "rqa_bm25:Hybrid", rank=20, summary="BM25 and vectors over your own files, indexed on disk"
    )
    registry.retriever("bm25", "rqa_bm25:Bm25", rank=10, summary="BM25 over your own files, indexed on disk")
