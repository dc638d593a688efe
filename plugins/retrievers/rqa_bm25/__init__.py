"""Retrievers `bm25` and `hybrid`: passages from your own files, in an index on disk.

    rqa index notes/ papers/*.pdf wiki.tsv     # reads only new and changed files
    rqa ask "Who wrote it?"

`retriever` ranks by BM25, `hybrid` by BM25 and vectors. `analysis` splits text into words, `index` searches the tantivy
index, `vectors` the vectors, and `indexing` updates the index. `robust_qa.documents` reads the files and cuts them into
passages.
"""

from __future__ import annotations

from .hybrid import Hybrid
from .retriever import Bm25, Language

__all__ = ["Bm25", "Hybrid", "Language"]
