"""Retriever `bm25`: your own files, ranked by BM25."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from robust_qa.kit import data_dir

if TYPE_CHECKING:
    from robust_qa import IndexProgress, IndexReport, Passage
    from rqa_bm25.index import Filter, Index
    from rqa_files import FileReader, Formats, Indexed

Language = Literal[
    "auto",
    "none",
    "ar",
    "da",
    "de",
    "el",
    "en",
    "es",
    "fi",
    "fr",
    "hu",
    "it",
    "nl",
    "no",
    "pt",
    "ro",
    "ru",
    "sv",
    "ta",
    "tr",
]


class Bm25:
    """Searches an index of files on disk with BM25 (k1 = 1.2, b = 0.75) over title and text.

    `Passage.score` is the BM25 score, which has no upper bound. Copies of a passage are returned once.
    """

    cached = False  # a search is faster than the cache
    reads_files = True

    @dataclass
    class Options:
        """The location of the index, and how files are cut into passages."""

        index: Path | None = None  # folder of the index; default: index/default in the user's data directory
        language: Language = "auto"  # stemmer of a new index; "auto": that of each document, "none": no stemming
        words: Annotated[int, Meta(ge=10)] = 100  # approximate words in a passage; sentences stay whole
        overlap: Annotated[int, Meta(ge=0)] = 0  # sentences that a passage shares with the one before it
        file_megabytes: Annotated[int, Meta(ge=1)] = 200  # megabytes; larger files are skipped
        file_seconds: Annotated[int, Meta(ge=1)] = 30  # of processor time for a file, and two more for each megabyte
        encoding: str = ""  # of text files, such as "cp1251"; "": detected
        exclude: str = ""  # files and folders to leave out: patterns as in .gitignore, separated by commas
        no_ignore: bool = False  # read also what .gitignore, .ignore and .rqaignore name, and what programs made
        within: str = ""  # search only the files at or under this path
        types: str = ""  # search only files with these suffixes, as in "pdf,docx"
        # search only documents of this date or later; a document without a date has that of its file's last change
        since: Annotated[str, Meta(pattern=r"^(\d{4}(-\d\d(-\d\d)?)?)?$")] = ""
        title: str = ""  # search only passages whose title has these words
        # memory for indexing in megabytes; when it is full, it is written to disk
        writer_memory: Annotated[int, Meta(ge=15, le=4000)] = 256

    def __init__(self, options: Options, *, formats: Formats = ()) -> None:
        from rqa_bm25.index import Index

        self._options, self._formats = options, formats
        self._index: Index = Index(options.index or data_dir() / "index" / "default")

    def retrieve(self, query: str, k: int) -> list[Passage]:
        """Return the `k` passages with the highest scores, none if the index has no word of `query`.

        `query` may be any text. Searches the newest commit, even while another process writes. Safe to call from
        several threads. Raises MissingError if there is no index or it is empty.
        """
        return self._marked(self._index.search(query, k, self._only))

    def corrections(self, question: str) -> dict[str, str]:
        """Return the words of a question that are misspelt, with those of the passages that they stand for."""
        return self._index.corrections(question)

    def _marked(self, passages: list[Passage]) -> list[Passage]:
        return self._index.marked(passages, self._reader)

    @property
    def _only(self) -> Filter:
        from rqa_bm25.index import Filter
        from rqa_files import places

        options = self._options
        within = [*map(str, sorted(places([Path(options.within).absolute()])))] if options.within else []
        types = [each.strip().removeprefix(".").lower() for each in options.types.split(",")]
        return Filter(tuple(within), tuple(filter(None, types)), options.since, options.title)

    @property
    def _reader(self) -> FileReader:
        from rqa_files import Cut, FileReader

        options = self._options
        return FileReader(
            Cut(options.words, options.overlap),
            options.file_megabytes,
            options.file_seconds,
            options.encoding,
            self._formats,
        )

    def index(self, paths: Sequence[Path], progress: IndexProgress | None = None) -> IndexReport:
        """Update the index with the files at and under `paths`, by default those indexed before, in one transaction.

        Files elsewhere stay in the index until they are deleted.
        Raises BusyError while another process writes, InputError if a path does not exist and was never indexed.
        """
        from rqa_bm25.indexing import update
        from rqa_files import Rules

        return update(
            self._index,
            paths,
            self._reader,
            language=self._options.language,
            memory=self._options.writer_memory,
            rules=Rules.of(self._options.exclude, no_ignore=self._options.no_ignore),
            progress=progress,
        )

    def remove(self, paths: Sequence[Path]) -> IndexReport:
        """Remove the files at and under `paths` from the index. Raises InputError if it holds none there."""
        from rqa_bm25.indexing import remove

        return remove(self._index, paths, self._reader, memory=self._options.writer_memory)

    def files(self) -> dict[str, Indexed]:
        """Return what the index keeps of each file, by name. Raises MissingError if there is no index."""
        return self._index.table().files

    def refresh(self) -> IndexReport:
        """Update the index with what changed in the files and folders indexed before, if that is quick.

        Raises MissingError if there is no index, BusyError while another process writes.
        """
        from rqa_bm25.indexing import refresh

        return refresh(self._index, self._reader, memory=self._options.writer_memory)

    def fingerprint(self) -> str:
        """Return the name of the newest commit."""
        return self._index.generation()
