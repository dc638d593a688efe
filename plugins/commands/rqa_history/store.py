"""The history: answers in an SQLite file, which several processes may use at once."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robust_qa import Answer, BusyError, InputError, RqaError
from robust_qa.cli import as_json
from robust_qa.kit import data_dir, disk_hint, without_keys
from robust_qa.version import __version__

if TYPE_CHECKING:
    import sqlite3

_FILE_NAME = "history.sqlite3"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    id INTEGER PRIMARY KEY AUTOINCREMENT, time REAL NOT NULL, command TEXT NOT NULL, version TEXT NOT NULL,
    question TEXT NOT NULL, answer TEXT, strategy TEXT NOT NULL, seconds REAL NOT NULL,
    words TEXT NOT NULL, whole TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS answers_by_time ON answers (time);
"""
_WAIT = 10.0  # seconds for another process that is writing
_DAY = 86_400.0  # seconds


@dataclass(frozen=True, slots=True)
class Entry:
    """An answer in a list. `time` is in seconds since 1970, `answer` None for an abstention."""

    id: int
    time: float
    command: str
    version: str
    question: str
    answer: str | None
    strategy: str
    seconds: float


_FIELDS = ", ".join(Entry.__slots__)
_END = "\x1e"  # in `words`, between question and answer, and the quotes
_FIRST = f"substr(words, 1, instr(words || '{_END}', '{_END}'))"


class History:
    """The answers in the user's data folder, with ids that are never used again. Close it after use.

    Methods raise BusyError if another process keeps writing, RqaError if the file is damaged, and OSError if the folder
    cannot be used.
    """

    def __init__(self) -> None:
        self.path = data_dir() / _FILE_NAME
        self._connection: sqlite3.Connection | None = None

    def add(self, answer: Answer, command: str, *, megabytes: int, days: int) -> bool:
        """Add an answer, without keys. Delete the oldest beyond `megabytes`, and those of more than `days`.

        Returns whether the file is new.
        """
        text = without_keys(json.dumps(as_json(answer)))
        whole = json.loads(text)
        fields = (whole[field] for field in ("question", "answer", "strategy", "seconds"))
        row = (time.time(), command, __version__, *fields, _words(whole), text)
        new = self._create()
        with self._database() as database, database:
            database.execute("INSERT INTO answers VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
            database.execute("DELETE FROM answers WHERE time < ?", (time.time() - days * _DAY,))
            while _in_use(database) > megabytes * 2**20 and _delete_oldest(database):
                pass
        return new

    def entries(self, words: Sequence[str] = (), *, limit: int) -> list[Entry]:
        """Return the newest answers first that have all of `words` in question, answer, quotes or their sources.

        Those with all words in question and answer come before those that need the quotes.
        """
        if not self.path.exists():
            return []
        anywhere = " AND ".join(["TRUE", *["instr(words, ?)"] * len(words)])
        first = " AND ".join(["TRUE", *[f"instr({_FIRST}, ?)"] * len(words)])
        query = f"SELECT {_FIELDS} FROM answers WHERE {anywhere} ORDER BY ({first}) DESC, id DESC LIMIT ?"  # noqa: S608
        folded = [word.casefold() for word in words]
        with self._database() as database:
            return [Entry(*row) for row in database.execute(query, (*folded, *folded, limit))]

    def whole(self, id: int) -> tuple[Entry, dict[str, Any]]:
        """Return an answer, also as `as_json` does. Raises InputError if there is none with that id."""
        self._check([id])
        with self._database() as database:
            query = f"SELECT whole, {_FIELDS} FROM answers WHERE id = ?"  # noqa: S608
            text, *fields = database.execute(query, (id,)).fetchone()
        return Entry(*fields), json.loads(text)

    def all(self) -> Iterator[tuple[Entry, dict[str, Any]]]:
        """Yield all answers as `whole` does, the oldest first."""
        if not self.path.exists():
            return
        with self._database() as database:
            for text, *fields in database.execute(f"SELECT whole, {_FIELDS} FROM answers ORDER BY id"):  # noqa: S608
                yield Entry(*fields), json.loads(text)

    def remove(self, ids: Sequence[int]) -> None:
        """Delete those answers from the disk. Raises InputError if one does not exist."""
        self._check(ids)
        with self._database() as database:
            with database:
                database.executemany("DELETE FROM answers WHERE id = ?", [(id,) for id in ids])
            _erase(database)

    def clear(self) -> None:
        """Delete all answers from the disk. A damaged file is removed."""
        if not self.path.exists():
            return
        try:
            with self._database() as database:
                with database:
                    database.execute("DELETE FROM answers")
                _erase(database)
        except BusyError:
            raise
        except RqaError:
            self.close()
            for suffix in ("-wal", "-shm", ""):  # the file last: SQLite would apply an old -wal to a new file
                self.path.with_name(_FILE_NAME + suffix).unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _check(self, ids: Iterable[int]) -> None:
        found: set[int] = set()
        if self.path.exists():
            with self._database() as database:
                found = {id for (id,) in database.execute("SELECT id FROM answers")}
        if missing := sorted(set(ids) - found):
            raise InputError(f"The history has no answer {missing[0]}.", hint="List the answers with `rqa history`.")

    def _create(self) -> bool:
        """Create the file, which only its owner can read, if there is none. Returns whether it is new."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            self.path.touch(mode=0o600, exist_ok=False)  # SQLite gives the same mode to -wal and -shm
        except FileExistsError:
            return False
        return True

    @contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        import sqlite3

        try:
            self._connection = self._connection or _connect(self.path)
            yield self._connection
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
                raise BusyError(f"Another process uses the history {self.path}.", hint="Try again later.") from error
            raise RqaError(
                f"The history {self.path} cannot be used: {error}.",
                hint=disk_hint(error) or "If it is damaged, start a new one with `rqa history rm --all`.",
            ) from error


def _connect(path: Path) -> sqlite3.Connection:
    import sqlite3

    database = sqlite3.connect(path, timeout=_WAIT, check_same_thread=False)  # a recorder is used in worker threads
    try:
        database.execute("PRAGMA journal_mode = WAL")
        # A power cut may lose the last answers, but does not damage the file.
        database.execute("PRAGMA synchronous = NORMAL")
        database.executescript(_SCHEMA)
    except sqlite3.Error:
        database.close()
        raise
    return database


def _erase(database: sqlite3.Connection) -> None:
    """Overwrite what was deleted, which would otherwise stay in the file."""
    database.execute("VACUUM")
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _words(whole: dict[str, Any]) -> str:
    """Return the text that is searched: question and answer, and after `_END` the quotes and their sources."""
    sides = [*whole["conflicts"], *filter(None, [whole.get("best_guess")])]
    cited = [*whole["citations"], *whole["closest"], *(each for side in sides for each in side["citations"])]
    quotes = dict.fromkeys(each[field] for each in cited for field in ("quote", "title", "source"))
    first = f"{whole['question']}\n{whole['answer'] or ''}".replace(_END, " ")
    return f"{first}{_END}{chr(10).join(quotes)}".casefold()


def _in_use(database: sqlite3.Connection) -> int:
    """Return the bytes of all pages in use."""
    pages, free, size = (
        database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def _delete_oldest(database: sqlite3.Connection) -> bool:
    """Delete the oldest tenth of the answers. Returns False if there are none."""
    oldest = "SELECT id FROM answers ORDER BY id LIMIT (SELECT count(*) / 10 + 1 FROM answers)"
    return database.execute(f"DELETE FROM answers WHERE id IN ({oldest})").rowcount > 0  # noqa: S608
