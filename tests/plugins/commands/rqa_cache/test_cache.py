"""`rqa cache` with a working and a damaged cache."""

import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from robust_qa.calls.cache import Cache
from robust_qa.config import environment

Rqa = Callable[..., Any]


@pytest.fixture
def path() -> Path:
    """The file of a cache with 100 calls."""
    with closing(Cache(environment.cache_dir(), 1024 * 1024)) as cache:
        for n in range(100):
            cache.put(f"k{n}", bytes(1000))
    return cache.path


def test_calls_are_counted_and_deleted(rqa: Rqa, path: Path) -> None:
    info = rqa("cache", "info").out.splitlines()[0]
    assert re.fullmatch(rf"{re.escape(str(path))}: 100 calls, \d+ kB \(at most 1024.0 MB\)", info)
    assert rqa("cache", "clear").err == "rqa: Deleted 100 calls and 0 indexes of --docs.\n"
    assert rqa("cache", "info").out.startswith(f"{path}: 0 calls")


def test_a_damaged_cache_is_reported_and_cleared(rqa: Rqa, path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xa5" * (len(content) - 4096))
    info = rqa("cache", "info")
    assert (info.code, info.err) == (
        0,
        f"rqa: The cache {path} cannot be used: database disk image is malformed. Replace it with `rqa cache clear`.\n",
    )
    assert rqa("cache", "clear").err == "rqa: Deleted a damaged cache and 0 indexes of --docs.\n"
    assert rqa("cache", "info").err == ""
