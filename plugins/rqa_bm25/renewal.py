"""Writing an index anew, without what was deleted from it.

tantivy marks what is deleted, and lets it go when it merges segments, which depends on their sizes alone. Until then
deleted passages count in document frequencies and in the mean length, so that ranks depend on what there once was,
and their text can be read in the files on the disk.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import tantivy

from rqa_bm25.index import decoded, searched

_MOST_DELETED = 0.1  # of all passages in the files of the index
_AT_ONCE = 10_000  # passages that are looked up
_TOLD_EVERY = 1000  # passages


def is_due(folder: Path, engine: tantivy.Index, dropped: Collection[str], added: int) -> bool:
    """Whether much of the index in `folder` will be deleted when the files `dropped` are, and `added` passages came."""
    searcher = engine.searcher()
    written = _written(folder)
    going = sum(1 for file in dropped for _ in _places(engine, searcher, file))
    return written - searcher.num_docs + going > _MOST_DELETED * (written + added)


def renew(engine: tantivy.Index, writer: tantivy.IndexWriter, files: Collection[str], tell: Callable[[], None]) -> None:
    """Replace all passages of `files` by themselves, in the same order, so that nothing is left but them."""
    searcher = engine.searcher()
    done = 0
    for file in files:
        writer.delete_documents_by_term("file", file)
        for address in _places(engine, searcher, file):
            passage = searcher.doc(address)
            for words in searched(decoded(passage, "title"), decoded(passage, "text")):  # not stored, nor is `first`
                passage.add_text("words", words)
            if passage.get_first("stamp"):
                passage.add_boolean("first", True)
            writer.add_document(passage)
            done += 1
            if done % _TOLD_EVERY == 0:
                tell()


def _places(engine: tantivy.Index, searcher: tantivy.Searcher, file: str) -> Iterator[tantivy.DocAddress]:
    """Where the passages of a file are, in the order of the index; never very many in memory."""
    # Equal scores, which keep the order.
    query = tantivy.Query.const_score_query(tantivy.Query.term_query(engine.schema, "file", file), 1.0)
    start = 0
    while hits := searcher.search(query, _AT_ONCE, count=False, offset=start).hits:
        yield from (address for _, address in hits)
        if len(hits) < _AT_ONCE:
            return
        start += _AT_ONCE


def _written(folder: Path) -> int:
    """How many passages there are in the files of the index, deleted ones included."""
    meta = json.loads((folder / "meta.json").read_bytes())
    return sum(segment["max_doc"] for segment in meta["segments"])
