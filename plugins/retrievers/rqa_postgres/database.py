"""Connections to one Postgres database, with its errors as errors of rqa."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from robust_qa import CallError, ConfigError, Key, MissingError, RefusedError, RqaError, UnavailableError
from robust_qa.kit import install_hint

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg_pool import ConnectionPool


class Database:
    """A pool of connections, opened by the first call. Safe to use from several threads."""

    def __init__(self, key: Key, *, connections: int, timeout: float) -> None:
        """Raises ConfigError if the DSN is wrong, MissingError if there is none."""
        self._dsn, self._password = _dsn(key)
        self._connections, self._timeout = connections, timeout
        self._lock = threading.Lock()
        self._pool: ConnectionPool | None = None

    @contextmanager
    def reading(self) -> Iterator[Connection[Any]]:
        """Yield a connection in a read-only transaction with the statement timeout."""
        with self._connected() as connection:
            connection.execute("set transaction read only")
            connection.execute("select set_config('statement_timeout', %s, true)", [f"{self._timeout * 1000:.0f}"])
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection[Any]]:
        """Yield a connection in a transaction, which is committed at the end and rolled back after an error."""
        with self._connected() as connection:
            yield connection

    def close(self) -> None:
        """Close every connection."""
        if self._pool:
            self._pool.close()

    @contextmanager
    def _connected(self) -> Iterator[Connection[Any]]:
        import psycopg

        try:
            with self._opened().connection(timeout=self._timeout) as connection:
                yield connection
        except psycopg.Error as error:
            raise self._translated(error) from None  # the cause may show the DSN

    def _opened(self) -> ConnectionPool:
        from psycopg import connect
        from psycopg_pool import ConnectionPool

        with self._lock:
            if self._pool is None:
                # The pool retries in the background and does not raise the reason.
                connect(self._dsn, connect_timeout=max(2, round(self._timeout))).close()
                # A prepared statement has one plan for frequent and rare words.
                kwargs = {"prepare_threshold": None}
                self._pool = ConnectionPool(self._dsn, kwargs=kwargs, min_size=1, max_size=self._connections, open=True)
            return self._pool

    def _translated(self, error: Exception) -> RqaError:
        from psycopg import OperationalError, errors

        text = " ".join(str(error).split())
        if self._password:
            text = text.replace(self._password, "***")
        if isinstance(error, errors.QueryCanceled):  # not retried, because it would take as long again
            return CallError(
                f"Postgres ended a statement: {text}",
                hint="Make the query faster, or raise the option `statement_timeout`, "
                f"which is {self._timeout:g} seconds.",
            )
        if isinstance(error, OperationalError):
            return UnavailableError(f"Postgres cannot be reached: {text}", hint="Check the server and the stored DSN.")
        if isinstance(error, errors.FeatureNotSupported | errors.UndefinedFile) and "vector" in text:
            return MissingError(
                f"Postgres has no pgvector: {text}", hint="Install pgvector 0.5 or newer on the server."
            )
        return RefusedError(f"Postgres refused a statement: {text}", general=True)


def _dsn(key: Key) -> tuple[str, str]:
    """Return the DSN that is stored as `key`, and its password."""
    try:
        import psycopg_pool  # noqa: F401
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict
    except ImportError as error:
        raise MissingError(f"The retriever pg needs psycopg: {error}.", hint=install_hint("postgres")) from error
    storing = f"Store it with `rqa keys set {key.name} < FILE`: postgresql://user:password@host/database"
    try:
        dsn = key.reveal(key.host or "https://localhost")  # the DSN itself says where its password goes
    except MissingError:
        raise MissingError(f"The key {key.name!r} is not stored. It holds the DSN.", hint=storing) from None
    try:
        password = conninfo_to_dict(dsn).get("password")
    except ProgrammingError:  # its message quotes the DSN
        raise ConfigError(f"The key {key.name!r} does not hold a DSN of Postgres.", hint=storing) from None
    return dsn, str(password or "")
