"""Texts that BM25 ranks high for a question, for negatives that are hard to tell from what answers it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tantivy

from robust_qa.kit import words


class Neighbours:
    """A BM25 index of `texts` in memory."""

    def __init__(self, texts: Sequence[str]) -> None:
        engine: Any = tantivy
        schema = engine.SchemaBuilder().add_text_field("text", tokenizer_name="en_stem")
        schema = schema.add_unsigned_field("place", stored=True).build()
        self._index = engine.Index(schema)
        writer = self._index.writer(heap_size=64 << 20, num_threads=1)
        for place, text in enumerate(texts):
            writer.add_document(engine.Document(text=text, place=place))
        writer.commit()
        writer.wait_merging_threads()
        self._index.reload()
        self._searcher = self._index.searcher()

    def nearest(self, question: str, count: int) -> list[int]:
        """Positions of at most `count` texts, the best first."""
        query, _ = self._index.parse_query_lenient(" ".join(words(question)), ["text"])
        hits = self._searcher.search(query, count).hits
        return [self._searcher.doc(address)["place"][0] for _, address in hits]
