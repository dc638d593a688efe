"""The call cache: an SQLite file of bounded size, which several processes may use at once."""

from __future__ import annotations

import queue
import sqlite3
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from ..config import environment
from ..config import options as settings
from ..config.layers import Config
from ..errors import BusyError, disk_hint

_FILE_NAME = "calls.sqlite3"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS calls (
    key TEXT PRIMARY KEY, value BLOB NOT NULL, size INTEGER NOT NULL, used INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS calls_by_use ON calls (used, size);
"""
_TOUCH_AFTER = 3600  # seconds: times of use are exact to the hour, so that most reads write nothing
_MAX_QUEUED = 10_000  # entries waiting to be written; further ones are dropped
_SHRINK_TO = 0.9  # of the maximum size


@dataclass(frozen=True, slots=True)
class CacheSettings:
    """The table [cache]: finished calls kept on disk."""

    enabled: bool = True  # false: neither read nor write the cache
    folder: Path | None = None  # default: the user's cache folder
    size: Annotated[int, Meta(ge=1)] = 1024  # megabytes; the least recently used entries go first


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """The number of entries, and the bytes that they take in the file."""

    path: Path
    entries: int
    size: int


class Cache:
    """A map from key to bytes of at most `max_bytes` on disk. Deletes the least recently used entries first.

    Reads take a few microseconds. A thread writes in batches.
    If the file cannot be used, the cache stores nothing, and `trouble` says why.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self.path = folder / _FILE_NAME
        self.max_bytes = max_bytes
        self.trouble = ""
        self._reader: sqlite3.Connection | None = None
        self._waiting: queue.SimpleQueue[tuple[str, bytes | None] | None] = queue.SimpleQueue()
        self._writer: threading.Thread | None = None
        self._closing = False
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._reader = self._open()
        except (OSError, sqlite3.Error) as error:
            self.trouble = f"The cache {self.path} cannot be used: {error}. {disk_hint(error)}".rstrip()

    def get(self, key: str) -> bytes | None:
        """The value stored under `key`, or None."""
        if self._reader is None or self.trouble:
            return None
        try:
            row = self._reader.execute("SELECT value, used FROM calls WHERE key = ?", (key,)).fetchone()
        except sqlite3.Error as error:
            self._give_up(error)
            return None
        if row is None:
            return None
        if row[1] < time.time() - _TOUCH_AFTER:
            self._enqueue(key, None)
        value: bytes = row[0]
        return value

    def put(self, key: str, value: bytes) -> None:
        """Queue `value` to be stored under `key`."""
        if self._reader is not None and not self.trouble and len(value) <= self.max_bytes:
            self._enqueue(key, value)

    def close(self) -> None:
        """Write all queued entries and close the file."""
        if self._writer is not None:
            self._closing = True
            self._waiting.put(None)
            self._writer.join()
            self._writer = None
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def info(self) -> CacheInfo:
        """The number of entries and their size. If the file cannot be read, both are 0 and `trouble` says why."""
        entries, size = 0, 0
        if self._reader is not None:
            try:
                (entries,) = self._reader.execute("SELECT count(*) FROM calls").fetchone()
                size = _in_use(self._reader)
            except sqlite3.Error as error:
                self._give_up(error)
        return CacheInfo(self.path, entries, size)

    def clear(self) -> int | None:
        """Delete all entries. Returns their number, None if the file was damaged and a new one replaced it.

        Raises BusyError if another process keeps writing.
        """
        if self._reader is None:
            return 0
        try:
            count: int = self._reader.execute("DELETE FROM calls").rowcount
            self._reader.commit()
            self._reader.execute("VACUUM")
            self._reader.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.OperationalError as error:
            raise BusyError(f"The cache {self.path} is in use: {error}.", hint="Try again later.") from error
        except sqlite3.DatabaseError:
            self._reader.close()
            self._remove()
            self._reader, self.trouble = self._connect(), ""
            return None
        return count

    def _open(self) -> sqlite3.Connection:
        try:
            return self._connect()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            self._remove()  # the file is damaged
            return self._connect()

    def _remove(self) -> None:
        for file in self.path.parent.glob(_FILE_NAME + "*"):
            file.unlink(missing_ok=True)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=30, check_same_thread=False)
        try:
            if connection.execute("PRAGMA auto_vacuum").fetchone() == (0,):  # only for a new file: setting it locks
                connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.execute("PRAGMA journal_mode = WAL")
            # A power cut may lose the last entries, but does not damage the file.
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.executescript(_SCHEMA)
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _enqueue(self, key: str, value: bytes | None) -> None:
        if self._writer is None:
            self._writer = threading.Thread(target=self._write, name="rqa-cache", daemon=True)
            self._writer.start()
        if self._waiting.qsize() < _MAX_QUEUED:
            self._waiting.put((key, value))

    def _write(self) -> None:
        try:
            connection = self._connect()
        except sqlite3.Error as error:
            self._give_up(error)
            return
        batch: list[tuple[str, bytes | None] | None] = []
        ending = False
        while not ending:
            if not batch:
                batch.append(self._waiting.get())
                while not self._waiting.empty():
                    batch.append(self._waiting.get())
            ending = batch[-1] is None
            try:
                with connection:
                    self._store(connection, [entry for entry in batch if entry])
                self._shrink(connection)
            except sqlite3.Error as error:
                if _is_lock(error) and not self._closing:
                    continue  # try again: another process is writing
                self._give_up(error)
                break
            batch.clear()
        connection.close()

    @staticmethod
    def _store(connection: sqlite3.Connection, entries: list[tuple[str, bytes | None]]) -> None:
        now = int(time.time())
        connection.executemany(
            "INSERT OR REPLACE INTO calls VALUES (?, ?, ?, ?)",
            [(key, value, len(value), now) for key, value in entries if value is not None],
        )
        connection.executemany(
            "UPDATE calls SET used = ? WHERE key = ?",
            [(now, key) for key, value in entries if value is None],
        )

    def _shrink(self, connection: sqlite3.Connection) -> None:
        if _in_use(connection) <= self.max_bytes:
            return
        while _in_use(connection) > self.max_bytes * _SHRINK_TO:
            with connection:  # the least recently used hundredth
                connection.execute(
                    "DELETE FROM calls WHERE rowid IN (SELECT rowid FROM calls ORDER BY used, rowid "
                    "LIMIT (SELECT count(*) / 100 + 1 FROM calls))"
                )
        connection.executescript("PRAGMA incremental_vacuum")  # `execute` would free only one page

    def _give_up(self, error: sqlite3.Error) -> None:
        fix = "" if isinstance(error, sqlite3.OperationalError) else "Replace it with `rqa cache clear`."
        self.trouble = f"The cache {self.path} cannot be used: {error}. {disk_hint(error) or fix}".rstrip()


def _is_lock(error: sqlite3.Error) -> bool:
    """Whether SQLite timed out because another process was writing."""
    return isinstance(error, sqlite3.OperationalError) and error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY


def _in_use(connection: sqlite3.Connection) -> int:
    """The bytes of all pages in use."""
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def open_cache(config: Config) -> Cache | None:
    """The cache that the table [cache] configures, None if it is disabled."""
    chosen = settings.build(CacheSettings, config.table("cache"))
    if not chosen.enabled:
        return None
    return Cache(chosen.folder or environment.cache_dir(), chosen.size * 1024 * 1024)
