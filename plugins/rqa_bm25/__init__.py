"""`bm25`: passages from your own files, ranked by BM25 over a tantivy index on disk.

    rqa index notes/ papers/*.pdf wiki.tsv     # only what changed is read again
    rqa ask "Who wrote it?"

What is read stands in `documents`, what a heading is in `headings`, how text is cut into passages in `chunking`,
what a word is in `analysis`, the index and its search in `index`, how it is brought up to date in `indexing`, and rid
of what left in `renewal`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from robust_qa import hookimpl
from robust_qa.kit import data_dir

if TYPE_CHECKING:
    from robust_qa import IndexProgress, IndexReport, Passage, Registry
    from rqa_bm25.index import Index

Language = Literal[
    "none", "ar", "da", "de", "el", "en", "es", "fi", "fr", "hu", "it", "nl", "no", "pt", "ro", "ru", "sv", "ta", "tr"
]


class Bm25:
    """Passages from an index of files on disk, by BM25 (k1 = 1.2, b = 0.75) over title and text.

    `Passage.score` is the BM25 score, unbounded above. Passages with equal title and text are returned once.
    """

    cached = False  # a search is quicker than the cache

    @dataclass
    class Options:
        """Where the index is, and how files become passages."""

        index: Path | None = None  # folder of the index; none: index/default in the user's data directory
        language: Language = "en"  # stemming of a new index's words; "none" takes words as they stand
        words: Annotated[int, Meta(ge=10)] = 100  # words in a passage, about; sentences are kept whole
        overlap: Annotated[int, Meta(ge=0)] = 0  # sentences that a passage repeats from the one before it
        file_megabytes: Annotated[int, Meta(ge=1)] = 200  # megabytes; larger files are skipped
        # megabytes that indexing fills before it writes to disk
        writer_memory: Annotated[int, Meta(ge=15, le=4000)] = 256

    def __init__(self, options: Options) -> None:
        from rqa_bm25.index import Index

        self._options = options
        self._index: Index = Index(options.index or data_dir() / "index" / "default")

    def retrieve(self, query: str, k: int) -> list[Passage]:
        """The `k` passages that score highest; none when no word of `query` occurs in the index.

        Any text does as a query. The newest commit is read, also while another process writes. Raises
        MissingError when there is no index or it is empty. Safe to call from several threads.
        """
        return self._index.search(query, k)

    def index(self, paths: Sequence[Path], progress: IndexProgress | None = None) -> IndexReport:
        """Bring the index up to date with the files at and under `paths`, all or nothing.

        Files indexed before that are not at or under `paths` stay as they are, so folders may be indexed one
        after the other. A file that is gone leaves when it, or a folder it was in, is named again. Raises
        BusyError while another process writes, InputError when a path neither exists nor was ever indexed.
        """
        from robust_qa.documents import Cut
        from rqa_bm25.indexing import update

        options = self._options
        cut = Cut(options.words, options.overlap)
        return update(
            self._index,
            paths,
            cut,
            language=options.language,
            memory=options.writer_memory,
            file_megabytes=options.file_megabytes,
            progress=progress,
        )

    def fingerprint(self) -> str:
        """The index's generation: it changes when a commit does."""
        return self._index.generation()


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the retriever."""
    registry.retriever("bm25", Bm25, rank=10, summary="BM25 over your own files, indexed on disk")
