import multiprocessing
import sqlite3
import stat
import time
from contextlib import closing
from pathlib import Path

import pytest

from robust_qa.calls.cache import Cache

MEGABYTE = 1024 * 1024


def reopened(folder: Path, size: int = MEGABYTE) -> Cache:
    return Cache(folder, size)


def stored(folder: Path, key: str) -> bytes | None:
    """What a process that comes later finds."""
    with closing(Cache(folder, MEGABYTE)) as cache:
        return cache.get(key)


def age(folder: Path) -> None:
    """As if nothing in it had been read for years."""
    with closing(sqlite3.connect(folder / "calls.sqlite3")) as database:
        database.execute("UPDATE calls SET used = 5")
        database.commit()


def test_what_is_put_is_there_after_closing(tmp_path: Path) -> None:
    cache = Cache(tmp_path, MEGABYTE)
    cache.put("a", b"1")
    cache.close()
    again = reopened(tmp_path)
    assert again.get("a") == b"1" and again.get("b") is None
    again.close()


def test_the_least_recently_used_go_when_it_is_full(tmp_path: Path) -> None:
    with closing(Cache(tmp_path, MEGABYTE)) as cache:
        for n in range(80):
            cache.put(f"k{n}", bytes(10_000))
    age(tmp_path)
    with closing(Cache(tmp_path, MEGABYTE)) as cache:
        cache.get("k0")
        for n in range(80, 110):
            cache.put(f"k{n}", bytes(10_000))
    with closing(Cache(tmp_path, MEGABYTE)) as cache:
        assert 0.8 * MEGABYTE < cache.info().size <= MEGABYTE
        assert cache.get("k0") and cache.get("k109") and not cache.get("k1")


def test_clearing_forgets_everything_and_counts(tmp_path: Path) -> None:
    cache = Cache(tmp_path, MEGABYTE)
    cache.put("a", b"1")
    cache.close()
    again = reopened(tmp_path)
    assert again.clear() == 1
    assert again.get("a") is None and again.info().entries == 0
    again.close()


def test_a_damaged_file_makes_room_for_a_new_one(tmp_path: Path) -> None:
    (tmp_path / "calls.sqlite3").write_bytes(b"this is no database at all" * 100)
    cache = Cache(tmp_path, MEGABYTE)
    cache.put("a", b"1")
    cache.close()
    assert stored(tmp_path, "a") == b"1"


def test_a_locked_cache_is_not_treated_as_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(Cache(tmp_path, MEGABYTE)) as cache:
        cache.put("a", b"1")
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda path, **options: connect(path, **{**options, "timeout": 0}))
    with closing(connect(tmp_path / "calls.sqlite3")) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with closing(Cache(tmp_path, MEGABYTE)) as cache:
            assert "database is locked" in cache.trouble
    assert stored(tmp_path, "a") == b"1"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a lock."""
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda path, **options: connect(path, **{**options, "timeout": 0.05}))


def test_what_is_put_while_another_process_writes_is_kept_until_that_ends(tmp_path: Path, impatient: None) -> None:
    with closing(Cache(tmp_path, MEGABYTE)) as cache:
        cache.put("a", b"1")
        while cache.get("a") is None:
            time.sleep(0.01)
        with closing(sqlite3.connect(cache.path)) as other:
            other.execute("BEGIN IMMEDIATE")
            cache.put("b", b"2")
            time.sleep(0.3)
            assert cache.get("a") == b"1"
        cache.put("c", b"3")
        for _ in range(1000):
            if cache.get("b") and cache.get("c"):
                break
            time.sleep(0.01)
        assert (cache.get("b"), cache.get("c"), cache.trouble) == (b"2", b"3", "")


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """The folder of a cache whose first page alone is whole: it can be opened, and not be read."""
    cache = Cache(tmp_path, MEGABYTE)
    for n in range(100):
        cache.put(f"k{n}", bytes(1000))
    cache.close()
    path = tmp_path / "calls.sqlite3"
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xa5" * (len(content) - 4096))
    return tmp_path


def test_a_file_damaged_after_its_header_raises_a_warning_with_a_fix(damaged: Path) -> None:
    with closing(Cache(damaged, MEGABYTE)) as cache:
        assert cache.info().entries == 0
        assert "malformed. Replace it with `rqa cache clear`." in cache.trouble


def test_clearing_a_file_damaged_after_its_header_creates_a_new_one(damaged: Path) -> None:
    with closing(Cache(damaged, MEGABYTE)) as cache:
        cache.get("k1")
        assert cache.clear() is None
        cache.put("a", b"1")
    assert stored(damaged, "a") == b"1"


def test_an_unusable_folder_turns_the_cache_off(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / "file" / "below", MEGABYTE)
    cache.put("a", b"1")
    assert cache.get("a") is None and "cannot be used" in cache.trouble
    cache.close()


def test_a_file_damaged_in_use_turns_the_cache_off(tmp_path: Path) -> None:
    with closing(Cache(tmp_path, MEGABYTE)) as cache:
        with closing(sqlite3.connect(tmp_path / "calls.sqlite3")) as database:
            database.execute("DROP TABLE calls")
        assert cache.get("a") is None and "no such table" in cache.trouble
        cache.put("a", b"1")
        assert cache.get("a") is None


def test_only_the_owner_can_read_the_cache(tmp_path: Path) -> None:
    Cache(tmp_path / "new", MEGABYTE).close()
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def _fill(folder: str, name: str) -> None:
    cache = Cache(Path(folder), MEGABYTE)
    for n in range(200):
        cache.put(f"{name}{n}", name.encode())
        cache.get(f"other{n}")
    cache.close()


def test_processes_share_it_without_losing_entries(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_fill, args=(str(tmp_path), name)) for name in ("a", "b")]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    cache = Cache(tmp_path, MEGABYTE)
    assert cache.info().entries == 400
    cache.close()
