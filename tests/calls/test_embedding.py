"""Calls of embedders: one cache entry for each text, batches, and checks of the vectors."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robust_qa import RefusedError, UnavailableError
from robust_qa.calls.cache import Cache
from robust_qa.calls.limits import Limits
from robust_qa.calls.pipeline import Pipeline
from robust_qa.calls.trace import Trace


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    opened = Cache(tmp_path, 1_000_000)
    yield opened
    opened.close()


class Letters:
    """Counts a, b and c. `failures` are raised first."""

    def __init__(self, *failures: Exception, delay: float = 0.0) -> None:
        self.failures = list(failures)
        self.delay = delay
        self.calls: list[list[str]] = []

    async def embed(self, texts: list[str]) -> Any:
        self.calls.append(texts)
        await asyncio.sleep(self.delay)
        if self.failures:
            raise self.failures.pop(0)
        return [[text.count(letter) for letter in "abc"] for text in texts]


def pipeline(component: Any, cache: Cache | None = None, *, identity: str | None = "i", **limits: Any) -> Pipeline:
    return Pipeline("embedder.letters", component, Limits(**limits), identity=identity, cache=cache)


async def embed(component: Any, *texts: str) -> np.ndarray:
    return await pipeline(component, retries=0).embed(texts, Trace())


async def test_vectors_have_length_1_and_the_order_of_the_texts() -> None:
    vectors = await embed(Letters(), "aaa", "abab", "aaa", "")
    assert vectors.dtype == np.float32
    assert vectors == pytest.approx(np.array([[1, 0, 0], [0.7071068, 0.7071068, 0], [1, 0, 0], [0, 0, 0]]))


async def test_each_text_is_cached_by_itself(tmp_path: Path, cache: Cache) -> None:
    first = await pipeline(Letters(), cache).embed(["a", "abc"], Trace())
    cache.close()
    letters, reopened = Letters(), Cache(tmp_path, 1_000_000)
    second = await pipeline(letters, reopened).embed(["abc", "b", "a"], Trace())
    reopened.close()
    assert letters.calls == [["b"]]
    assert second[[2, 0]].tolist() == first.tolist()


@pytest.mark.parametrize("identity", ["other", None])
async def test_vectors_of_another_identity_are_not_used(tmp_path: Path, cache: Cache, identity: str | None) -> None:
    await pipeline(Letters(), cache).embed(["a"], Trace())
    cache.close()
    letters, reopened = Letters(), Cache(tmp_path, 1_000_000)
    await pipeline(letters, reopened, identity=identity).embed(["a"], Trace())
    reopened.close()
    assert letters.calls == [["a"]]


async def test_requests_that_wait_become_one_call() -> None:
    letters = Letters(delay=0.01)
    channel = pipeline(letters)
    found = await asyncio.gather(*(channel.embed([text, "c"], Trace()) for text in ("a", "b", "ab")))
    assert len(letters.calls) < 3
    assert [vectors[0].tolist() for vectors in found[:2]] == [[1, 0, 0], [0, 1, 0]]
    assert [vectors[1].tolist() for vectors in found] == [[0, 0, 1]] * 3


async def test_a_failure_that_may_pass_is_retried() -> None:
    letters = Letters(UnavailableError("busy", limited=True))
    vectors = await pipeline(letters, retries=1).embed(["a"], Trace())
    assert vectors.tolist() == [[1, 0, 0]] and len(letters.calls) == 2


async def test_a_general_refusal_of_a_batch_is_not_repeated_for_each_request() -> None:
    letters = Letters(*(RefusedError("wrong key", general=True) for _ in range(9)))
    channel = pipeline(letters)
    found = await asyncio.gather(*(channel.embed([t], Trace()) for t in "abc"), return_exceptions=True)
    assert [str(error) for error in found] == ["wrong key"] * 3
    assert len(letters.calls) == 1
