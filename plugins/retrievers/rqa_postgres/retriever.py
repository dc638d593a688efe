"""Retriever `pg`: its options, and a search by a query of the user's own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from robust_qa import ConfigError, EmbedderName, Key, Passage, ReplyError
from robust_qa.kit import fused, iso_date

from .database import Database

if TYPE_CHECKING:
    from robust_qa import EmbedderHandle, IndexProgress, IndexReport
    from rqa_files import Formats


class Postgres:
    """Searches passages in Postgres by words and by vectors and fuses the two rankings, or runs a query of your own.

    `Passage.score` is the sum over both rankings of 1 / (5 + rank), with ranks from 1, or the query's `score`.
    """

    reads_files = True

    @dataclass
    class Options:
        """The database, and either how files are indexed or a query of your own."""

        key: Key  # name of the stored key that holds the DSN: postgresql://user:password@host/database
        query: str | None = None  # instead of an index: a select of id, title, text; %(question)s and %(k)s are bound
        table: Annotated[str, Meta(pattern=r"\A[a-z_][a-z0-9_]{0,40}\Z")] = "rqa"  # start of the tables' names
        language: str = "english"  # text search configuration of a new index; "simple": no stemming
        embedder: EmbedderName | None = None  # default: the one in [defaults]
        words: Annotated[int, Meta(ge=10)] = 100  # approximate words in a passage; sentences stay whole
        overlap: Annotated[int, Meta(ge=0)] = 0  # sentences that a passage shares with the one before it
        file_megabytes: Annotated[int, Meta(ge=1)] = 200  # megabytes; larger files are skipped
        file_seconds: Annotated[int, Meta(ge=1)] = 30  # of processor time for a file, and two more for each megabyte
        encoding: str = ""  # of text files, such as "cp1251"; "": detected
        exclude: str = ""  # files and folders to leave out: patterns as in .gitignore, separated by commas
        no_ignore: bool = False  # read also what .gitignore, .ignore and .rqaignore name, and what programs made
        connections: Annotated[int, Meta(ge=1)] = 8  # the most connections at once
        statement_timeout: Annotated[float, Meta(gt=0)] = 10.0  # seconds for a statement of a search

    def __init__(self, options: Options, *, embedder: EmbedderHandle, formats: Formats = ()) -> None:
        """Raises ConfigError if an untrusted file names the key or the DSN is wrong, MissingError if there is none."""
        self._options, self._embedder, self._formats = options, embedder, formats
        self.concurrency = options.connections
        self._database = Database(options.key, connections=options.connections, timeout=options.statement_timeout)

    async def retrieve(self, query: str, k: int) -> list[Passage]:
        """Return the `k` best passages. Raises MissingError if there is no index."""
        from .index import Index, storable

        question = storable(query)
        if self._options.query:
            return await asyncio.to_thread(self._queried, self._options.query, question, k)
        vector = await self._embedder.embed_query(question)
        index = Index(self._database, self._options.table)
        return fused(await asyncio.to_thread(index.rankings, question, vector, self._embedder.identity, k), k)

    async def index(self, paths: Sequence[Path], progress: IndexProgress | None = None) -> IndexReport:
        """Update the index with the files at and under `paths`, each file in a transaction of its own.

        Files elsewhere stay in the index. A deleted file is removed when `paths` has the file or its folder.
        Several processes may index at once. Raises InputError if a path does not exist and was never indexed.
        """
        from rqa_files import Cut, FileReader, Rules

        from .index import Index
        from .indexing import update

        options = self._options
        if options.query:
            raise ConfigError("A retriever with the option `query` has no index.", hint="Name another one with -r.")
        reader = FileReader(
            Cut(options.words, options.overlap),
            options.file_megabytes,
            options.file_seconds,
            options.encoding,
            self._formats,
        )
        index = Index(self._database, options.table)
        rules = Rules.of(options.exclude, no_ignore=options.no_ignore)
        return await update(
            index, paths, reader, self._embedder, language=options.language, rules=rules, progress=progress
        )

    def close(self) -> None:
        self._database.close()

    def _queried(self, query: str, question: str, k: int) -> list[Passage]:
        from psycopg.rows import dict_row

        # A cursor of the server takes a single select, and sends no more rows than needed.
        with (
            self._database.reading() as connection,
            connection.cursor("rqa", row_factory=dict_row) as cursor,
        ):
            cursor.execute(query.encode(), {"question": question, "k": k})
            return [_passage(row) for row in cursor.fetchmany(k)]


def _passage(row: dict[str, Any]) -> Passage:
    """Return the passage in a row of the user's query. Raises ReplyError if it has no text."""
    if not isinstance(row.get("text"), str):
        raise ReplyError(
            f"The option `query` selects no column `text` with text, only {', '.join(row)}.",
            hint="Select id, title and text, and optionally source, date and score.",
        )
    id, title, source, date = (
        "" if row.get(name) is None else str(row[name]) for name in ("id", "title", "source", "date")
    )
    return Passage(row["text"], id, title, source, float(row.get("score") or 0), date=iso_date(date))
