"""One Postgres for the tests of this process, and a database of its own for each test."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from standins import postgres

_numbers = itertools.count()


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The folder of the socket of a running Postgres with pgvector."""
    pytest.importorskip("psycopg_pool", reason="psycopg is not installed: pip install -e '.[dev]'")
    programs = postgres.programs()
    if programs is None:
        pytest.skip("there is no Postgres with pgvector: pip install -e '.[dev]', or postgresql-15-pgvector of Debian")
    with postgres.server(programs, fsync="off") as folder:
        yield folder


@pytest.fixture
def dsn(server: str) -> str:
    """The DSN of an empty database."""
    import psycopg

    name = f"test{next(_numbers)}"
    with psycopg.connect(f"postgresql://rqa@/postgres?host={server}", autocommit=True) as connection:
        connection.execute(f"create database {name}")
    return f"postgresql://rqa:s3cret-pw@/{name}?host={server}"
