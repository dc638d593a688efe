"""The tables of an index, and the search in them.

NAME_settings   one row: the embedder of the vectors, and the language
NAME_files      the indexed files, each with its stamp
NAME_passages   the passages of the files, with their words and vectors
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from psycopg import Connection, sql

from robust_qa import ConfigError, MissingError, Passage
from robust_qa.kit import whole_characters

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .database import Database

_DEPTH = 100  # passages of each ranking that are fused
_CANDIDATES = 4  # times the passages wanted from the HNSW index; with fewer, it misses all of them for some questions
_MOST_CANDIDATES = 1000  # of pgvector
_MOST_RANKED = 3000  # passages of a search by words, because Postgres computes each rank from the whole passage
_LONGEST_QUESTION = 2000  # characters
_WIDEST = 2000  # numbers of a vector in an HNSW index

_TABLES = """
create table if not exists {settings} (embedder text not null, language regconfig not null);
create table if not exists {files} (file text primary key, stamp text not null);
create table if not exists {passages} (
  number bigint generated always as identity primary key,
  file text not null references {files} on delete cascade,
  id text not null, title text not null, text text not null, source text not null, date text not null,
  place text not null,
  vector vector({width}) not null,
  words tsvector not null generated always as (
    setweight(to_tsvector({language}, left(title, 100000)), 'A') || to_tsvector({language}, left(text, 100000))
  ) stored
);
create index if not exists {by_file} on {passages} (file);
"""
# Made after the first files, because an index over many rows is faster to build than to extend.
_INDEXES = """
create index if not exists {by_word} on {passages} using gin (words);
create index if not exists {by_vector} on {passages} using hnsw (vector vector_cosine_ops);
"""

# The words of a question, rarest first, and how many passages have them or a rarer one. Counts only frequent words.
_WORDS = """
select lexeme, sum(coalesce(share * reltuples, 0)) over (order by share nulls first, lexeme)
from pg_class, unnest(to_tsvector({language}, %(question)s)) left join (
  select unnest(most_common_elems::text::text[]) as lexeme, unnest(most_common_elem_freqs) as share
  from pg_stats where tablename = %(table)s and schemaname = any(current_schemas(false)) and attname = 'words'
) as frequent using (lexeme) where oid = to_regclass(%(table)s) order by 2
"""
_ALL_WORDS = "select websearch_to_tsquery({language}, %(question)s)::text"
# Title words count double, as in the local index.
_BY_WORDS = """
select {columns} from (select * from {passages} where words @@ %(wanted)s::tsquery limit %(most)s) as found
order by ts_rank_cd('{{0.5, 0.5, 0.5, 1}}', words, %(ranked)s::tsquery, 1) desc, number limit %(n)s
"""
_BY_VECTOR = "select {columns} from {passages} order by vector <=> %(vector)s::vector limit %(n)s"
_COLUMNS = sql.SQL("text, id, title, coalesce(nullif(source, ''), file), date, file, place")


class Index:
    """The tables whose names start with `name`."""

    def __init__(self, database: Database, name: str) -> None:
        self.database, self.name = database, name

    def rankings(self, question: str, vector: NDArray[np.float32], embedder: str, k: int) -> list[list[Passage]]:
        """Return the first passages by words and by vectors.

        Passages with all words of the question come before those with any. Raises MissingError if there is no index.
        """
        n = max(k, _DEPTH)
        with self.database.reading() as connection:
            language = self._language(connection, embedder)
            by_words = self._by_words(connection, question[:_LONGEST_QUESTION], language, n)
            candidates = str(min(_CANDIDATES * n, _MOST_CANDIDATES))
            # Postgres underestimates the cost of reading the vectors of a whole table.
            setting = "select set_config('hnsw.ef_search', %s, true), set_config('enable_seqscan', 'off', true)"
            connection.execute(setting, [candidates])
            return [by_words, self._found(connection, _BY_VECTOR, n, vector=written(vector))]

    def stamps(self) -> dict[str, str]:
        """Return the stamp of each indexed file, none if there is no index."""
        with self.database.reading() as connection:
            if not self._exists(connection):
                return {}
            return dict(connection.execute(self.statement("select file, stamp from {files}")).fetchall())

    def create(self, connection: Connection[Any], embedder: str, width: int, language: str) -> None:
        """Create the tables unless they exist.

        Raises ConfigError if they are of another embedder or language, or if the vectors are too wide.
        """
        if width > _WIDEST:
            raise ConfigError(
                f"The embedder makes vectors of {width:,} numbers. An HNSW index takes {_WIDEST:,} at most.",
                hint="Set the option `dimensions` of the embedder if it has one, or choose another embedder.",
            )
        self._lock(connection, "")
        connection.execute("create extension if not exists vector")
        connection.execute(self.statement(_TABLES, language=language, width=width))
        settings = self._settings(connection)
        if settings is None:
            connection.execute(self.statement("insert into {settings} values (%s, %s)"), [embedder, language])
        elif settings[0] != embedder:
            raise self._other("vectors of another embedder", "embedder")
        elif settings[1] != language:
            raise self._other(f"the language {settings[1]}", "language")

    def finish(self, connection: Connection[Any]) -> int:
        """Create the indexes unless they exist. Return the number of passages."""
        self._lock(connection, "")
        connection.execute(self.statement(_INDEXES))
        connection.execute(self.statement("analyze {passages}"))
        [count] = connection.execute(self.statement("select count(*) from {passages}")).fetchone() or [0]
        return int(count)

    def locked(self, connection: Connection[Any], file: str) -> str | None:
        """Wait until no other transaction writes `file`. Return its stamp, None if it is not indexed."""
        self._lock(connection, file)
        row = connection.execute(self.statement("select stamp from {files} where file = %s"), [file]).fetchone()
        return row and row[0]

    def add(self, connection: Connection[Any], file: str, stamp: str) -> None:
        """Add a file without passages."""
        connection.execute(self.statement("insert into {files} values (%s, %s)"), [file, stamp])

    def delete(self, connection: Connection[Any], file: str) -> None:
        """Delete a file with its passages."""
        connection.execute(self.statement("delete from {files} where file = %s"), [file])

    def statement(self, text: str, *, language: str = "", width: int = 0) -> sql.Composed:
        """Return `text` with the names of the tables and these values, quoted."""
        kinds = ("settings", "files", "passages", "by_file", "by_word", "by_vector")
        names = {kind: sql.Identifier(f"{self.name}_{kind}") for kind in kinds}
        values = {
            "language": sql.SQL("{}::regconfig").format(sql.Literal(language)),
            "width": sql.Literal(width),
            "columns": _COLUMNS,
        }
        return sql.SQL(text).format(**names, **values)

    def _lock(self, connection: Connection[Any], file: str) -> None:
        """Wait until no other transaction works on `file`, or on the tables if it is ""."""
        connection.execute("select pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"rqa {self.name} {file}"])

    def _by_words(self, connection: Connection[Any], question: str, language: str, n: int) -> list[Passage]:
        """Return the passages with all words of the question, then those with any of its rarest words."""
        values = {"question": question, "table": f"{self.name}_passages"}
        [[all_words]] = connection.execute(self.statement(_ALL_WORDS, language=language), values)
        found = self._found(connection, _BY_WORDS, n, wanted=all_words, ranked=all_words)
        if len(found) < n:
            words = connection.execute(self.statement(_WORDS, language=language), values).fetchall()
            rarest = [word for word, passages in words if passages <= _MOST_RANKED] or [word for word, _ in words[:1]]
            any_word = any_of(word for word, _ in words)
            found += self._found(connection, _BY_WORDS, n, wanted=any_of(rarest), ranked=any_word)
        return list(dict.fromkeys(found))[:n]

    def _found(self, connection: Connection[Any], statement: str, n: int, **values: str) -> list[Passage]:
        rows = connection.execute(self.statement(statement), {**values, "n": n, "most": _MOST_RANKED})
        return [
            Passage(text, id, title, source, date=date, file=file, place=place)
            for text, id, title, source, date, file, place in rows
        ]

    def _exists(self, connection: Connection[Any]) -> bool:
        row = connection.execute("select to_regclass(%s)", [f"{self.name}_settings"]).fetchone()
        return row is not None and row[0] is not None

    def _language(self, connection: Connection[Any], embedder: str) -> str:
        """Return the language of the index. Raises MissingError if there is none."""
        settings = self._settings(connection) if self._exists(connection) else None
        if settings is None:
            raise MissingError(f"There is no index {self.name!r}.", hint="Fill it with `rqa index -r NAME PATH`.")
        if settings[0] != embedder:
            raise self._other("vectors of another embedder", "embedder")
        return settings[1]

    def _settings(self, connection: Connection[Any]) -> tuple[str, str] | None:
        return connection.execute(self.statement("select embedder, language::text from {settings}")).fetchone()

    def _other(self, what: str, option: str) -> ConfigError:
        return ConfigError(
            f"The index {self.name!r} has {what}.",
            hint=f"Change the option `{option}`, or index again under another name in the option `table`.",
        )


def any_of(words: Iterable[str]) -> str:
    """Return a tsquery for any of these lexemes."""
    return " | ".join("'" + word.replace("\\", "\\\\").replace("'", "''") + "'" for word in words)


def written(vector: NDArray[np.float32]) -> str:
    """Return a vector as pgvector reads it."""
    return "[" + ",".join(f"{value:.7g}" for value in vector.tolist()) + "]"


def storable(text: str) -> str:
    """Return `text` without what Postgres cannot store: NUL and lone surrogates."""
    return whole_characters(text).replace("\0", " ")
