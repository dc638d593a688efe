"""The retriever `pg` on a real Postgres."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from standins.embedder import CAR, Handle, write_documents
from standins.reading import FORMATS

import robust_qa
from robust_qa import (
    CallError,
    ConfigError,
    IndexReport,
    InputError,
    Key,
    MissingError,
    RefusedError,
    ReplyError,
    UnavailableError,
)
from robust_qa.testing import assert_conforms
from rqa_postgres import Postgres

PASSWORD = "s3cret-pw"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_documents(tmp_path / "docs")


@pytest.fixture
def pg(dsn: str) -> Iterator[Callable[..., Postgres]]:
    """Return a function that makes retrievers for the database. They are closed after the test."""
    made: list[Postgres] = []

    def build(handle: Handle | None = None, *, key: Key | None = None, **options: object) -> Postgres:
        settings = Postgres.Options(key=key or Key("db", dsn), **options)  # type: ignore[arg-type]
        made.append(Postgres(settings, embedder=handle or Handle(), formats=FORMATS))
        return made[-1]

    yield build
    for retriever in made:
        retriever.close()


@pytest.fixture
def execute(dsn: str) -> Callable[..., list[tuple[object, ...]]]:
    """Return a function that executes a statement in the database and returns its rows."""
    import psycopg

    def run(statement: str, *values: object) -> list[tuple[object, ...]]:
        with psycopg.connect(dsn) as connection:
            cursor = connection.execute(statement, values or None)  # type: ignore[arg-type]
            return cursor.fetchall() if cursor.description else []

    return run


def test_ignored_files_are_left_out_unless_told_otherwise(pg: Callable[..., Postgres], docs: Path) -> None:
    (docs / ".gitignore").write_text("*\n")
    left_out = index(pg(table="a"), docs)
    assert left_out.added == 0 and "--no-ignore reads them" in left_out.skipped[0][1]
    assert index(pg(table="b", no_ignore=True), docs).added > 0
    assert index(pg(table="c", no_ignore=True, exclude="*"), docs).added == 0


def index(retriever: Postgres, *paths: Path) -> IndexReport:
    return asyncio.run(retriever.index(paths))


def ask(retriever: Postgres, query: str, k: int = 3) -> list[str]:
    return [passage.text for passage in asyncio.run(retriever.retrieve(query, k))]


# -- searching an index


def test_it_conforms(docs: Path, pg: Callable[..., Postgres]) -> None:
    index(pg(), docs)
    assert_conforms("retriever", pg(), query="What do pandas eat?")


def test_a_passage_is_found_by_other_words(docs: Path, pg: Callable[..., Postgres]) -> None:
    index(pg(), docs)
    assert ask(pg(), "vehicle trouble", 1) == [CAR]


def test_passages_with_all_words_come_first(tmp_path: Path, pg: Callable[..., Postgres]) -> None:
    (tmp_path / "a.txt").write_text("Harbour harbour harbour harbour.")
    (tmp_path / "b.txt").write_text("The harbour has a crane, says the guide to the town and its buildings.")
    index(pg(), tmp_path)
    rankings = asyncio.run(pg().retrieve("harbour crane", 2))
    assert rankings[0].text.startswith("The harbour has a crane")


def test_a_language_stems_its_words(tmp_path: Path, pg: Callable[..., Postgres]) -> None:
    (tmp_path / "a.txt").write_text("Die Häuser am Hafen.")
    (tmp_path / "b.txt").write_text("Ein Brot aus Roggen.")
    index(pg(language="german"), tmp_path)
    assert ask(pg(language="german"), "Haus", 1) == ["Die Häuser am Hafen."]


def test_without_an_index_there_is_an_error(pg: Callable[..., Postgres]) -> None:
    with pytest.raises(MissingError, match="no index 'rqa'"):
        ask(pg(), "panda")


# -- updating an index


def test_only_changed_files_are_read_again(docs: Path, pg: Callable[..., Postgres]) -> None:
    first = index(pg(), docs)
    assert (first.added, first.passages) == (3, 3)
    (docs / "car.txt").write_text("The car is red.")
    (docs / "bread.txt").unlink()
    (docs / "new.txt").write_text("Tea is ready.")
    again = Handle()
    report = index(pg(again), docs)
    assert (report.added, report.changed, report.removed, report.unchanged, report.passages) == (1, 1, 1, 1, 3)
    assert [text for text in again.embedded if "car" in text or "Tea" in text] == again.embedded[1:]
    assert CAR not in ask(pg(), "automobile", 5)


def test_a_file_that_cannot_be_read_is_skipped_and_its_passages_go(docs: Path, pg: Callable[..., Postgres]) -> None:
    index(pg(), docs)
    (docs / "car.txt").write_bytes(b" ")
    report = index(pg(), docs)
    assert (report.removed, report.passages) == (1, 2)
    assert [Path(file).name for file, _ in report.skipped] == ["car.txt"]


def test_an_unknown_path_is_an_error_and_creates_nothing(
    tmp_path: Path, pg: Callable[..., Postgres], execute: Callable[..., object]
) -> None:
    with pytest.raises(InputError, match="no file or folder"):
        index(pg(), tmp_path / "missing")
    assert execute("select 1 from pg_tables where tablename like 'rqa%'") == []


def test_another_embedder_is_an_error(docs: Path, pg: Callable[..., Postgres]) -> None:
    index(pg(), docs)
    with pytest.raises(ConfigError, match="vectors of another embedder"):
        index(pg(Handle("b")), docs)
    with pytest.raises(ConfigError, match="vectors of another embedder"):
        ask(pg(Handle("b")), "panda")


def test_a_file_that_needs_too_much_memory_keeps_its_passages(docs: Path, pg: Callable[..., Postgres]) -> None:
    index(pg(), docs)
    (docs / "panda.txt").write_text("<html><a" + " x" * 5_000_000 + ">")
    report = index(pg(), docs)
    assert (report.changed, report.removed, report.unchanged, report.passages) == (0, 0, 2, 3)
    why = "reading it needs too much memory, so its old passages stay in the index and still answer"
    assert report.skipped == ((str(docs / "panda.txt"), why),)
    assert ask(pg(), "What do pandas eat?", 1) == ["A panda eats bamboo for twelve hours a day."]


def test_several_writers_index_at_once(docs: Path, pg: Callable[..., Postgres]) -> None:
    for number in range(20):
        (docs / f"{number}.txt").write_text(f"Number {number} is here.")
    reports: list[IndexReport] = []
    writers = [pg() for _ in range(3)]
    threads = [threading.Thread(target=lambda each=each: reports.append(index(each, docs))) for each in writers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(report.added for report in reports) == 23  # no file was written twice
    report = index(pg(), docs)
    assert (report.unchanged, report.passages) == (23, 23)


# -- a query of the user's own

NOTES = """create table notes (id int, title text, text text);
insert into notes values (1, 'Pandas', 'A panda eats bamboo.'), (2, null, 'A koala sleeps.')"""
QUERY = "select id, title, text from notes where text ilike '%%' || %(question)s || '%%' order by id limit %(k)s"


def test_a_query_finds_passages(pg: Callable[..., Postgres], execute: Callable[..., object]) -> None:
    execute(NOTES)
    found = asyncio.run(pg(query=QUERY).retrieve("a", 2))
    assert [(passage.id, passage.title, passage.text) for passage in found] == [
        ("1", "Pandas", "A panda eats bamboo."),
        ("2", "", "A koala sleeps."),
    ]


def test_a_question_is_bound_as_a_parameter(pg: Callable[..., Postgres], execute: Callable[..., object]) -> None:
    execute(NOTES)
    assert ask(pg(query=QUERY), "'; delete from notes; --") == []
    assert execute("select count(*) from notes") == [(2,)]


@pytest.mark.parametrize(
    "query",
    [
        "with gone as (delete from notes returning text) select text from gone",
        "select text from notes; delete from notes",
        "select text from erase()",
    ],
)
def test_a_query_cannot_write(query: str, pg: Callable[..., Postgres], execute: Callable[..., object]) -> None:
    execute(NOTES)
    execute("create function erase() returns setof notes language sql as 'delete from notes returning id, title, text'")
    with pytest.raises(RefusedError, match="Postgres refused"):
        ask(pg(query=query), "panda")
    assert execute("select count(*) from notes") == [(2,)]


def test_a_slow_query_is_stopped_and_not_repeated(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RQA_KEY_SLOW", dsn)
    slow = {"plugin": "pg", "key": "slow", "query": "select pg_sleep(20)::text as text", "statement_timeout": 0.2}
    began = time.monotonic()
    with pytest.raises(CallError, match="statement timeout") as caught:
        robust_qa.ask("panda", retriever=slow, strategy="rag", reader="lexical")
    assert time.monotonic() - began < 5
    assert "raise the option `statement_timeout`, which is 0.2 seconds" in caught.value.hint


def test_a_query_without_text_is_an_error(pg: Callable[..., Postgres]) -> None:
    with pytest.raises(ReplyError, match="no column `text` with text, only id"):
        ask(pg(query="select 1 as id"), "panda")


# -- the key


def test_a_missing_key_is_an_error_with_the_fix(pg: Callable[..., Postgres]) -> None:
    with pytest.raises(MissingError) as caught:
        pg(key=Key("notes-db"))
    assert "rqa keys set notes-db < FILE" in caught.value.hint


@pytest.mark.parametrize(
    "dsn",
    [
        f"nonsense {PASSWORD}",
        f"postgresql://ada:{PASSWORD}@127.0.0.1:1/notes",
        f"postgresql://ada:{PASSWORD}@127.0.0.1:1/notes?sslmode={PASSWORD}",
    ],
)
def test_no_error_shows_the_password(dsn: str, pg: Callable[..., Postgres]) -> None:
    with pytest.raises((ConfigError, UnavailableError, RefusedError)) as caught:
        ask(pg(key=Key("db", dsn)), "panda")
    assert PASSWORD not in f"{caught.value} {caught.value.hint} {caught.value.__cause__}"


# -- in rqa


def test_rqa_indexes_and_asks(
    rqa: Callable[..., object], docs: Path, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RQA_KEY_NOTES_DB", dsn)
    own = Path(os.environ["RQA_CONFIG_DIR"])
    own.mkdir(parents=True, exist_ok=True)
    (own / "config.toml").write_text('[retriever.pg]\nkey = "notes-db"\n')
    indexed = rqa("index", "-r", "pg", docs)
    assert indexed.code == 0 and "pg: 3 passages; files: 3 added" in indexed.err  # type: ignore[attr-defined]
    answered = rqa("ask", "-r", "pg", "--json", "What does a panda eat?")
    assert "bamboo" in answered.out  # type: ignore[attr-defined]
    documents = rqa("ask", "-r", "pg", "--docs", docs, "--json", "What does a panda eat?")
    assert documents.code == 2 and "no index in a folder" in documents.err  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("yours", "found"),
    [("", 'key = "notes-db"'), ('key = "notes-db"', 'query = "select text from notes"')],
)
def test_an_untrusted_configuration_cannot_use_the_database(
    yours: str, found: str, rqa: Callable[..., object], dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RQA_KEY_NOTES_DB", dsn)
    own = Path(os.environ["RQA_CONFIG_DIR"])
    own.mkdir(parents=True, exist_ok=True)
    (own / "config.toml").write_text(f"[retriever.pg]\n{yours}\n")
    Path("rqa.toml").write_text(f"[retriever.pg]\n{found}\n")
    ended = rqa("ask", "-r", "pg", "panda")
    assert ended.code == 2 and "rqa uses no key while" in ended.err  # type: ignore[attr-defined]
