"""Read bodies of bounded length, and Retry-After."""

from __future__ import annotations

import gzip
import tracemalloc
from collections.abc import Awaitable, Callable

import aiohttp
import httpx
import pytest
from standins.openai import Fault
from standins.web import serve

from robust_qa import ReplyError, kit

Body = Callable[..., Awaitable[bytes]]
BOMB = gzip.compress(bytes(64 << 20))


async def over_httpx(url: str, limit: int, **how: object) -> bytes:
    async with httpx.AsyncClient(trust_env=False) as client, client.stream("GET", url) as response:
        return await kit.read_body(response, limit, **how)


async def over_aiohttp(url: str, limit: int, **how: object) -> bytes:
    async with aiohttp.ClientSession(auto_decompress=False) as session, session.get(url) as response:
        return await kit.read_body(response, limit, **how)


@pytest.fixture(params=[over_httpx, over_aiohttp])
def body(request: pytest.FixtureRequest) -> Body:
    """Return a function that reads the body of a reply, with one of the two libraries."""

    async def read(fault: Fault, limit: int = 1000, **how: object) -> bytes:
        with serve({"/": fault}) as web:
            return await request.param(web.url, limit, **how)

    return read


def zipped(content: bytes, coding: str = "gzip") -> Fault:
    return Fault(body=content, headers={"Content-Encoding": coding})


@pytest.mark.parametrize(
    ("fault", "limit", "read"),
    [
        (Fault(body="x" * 1000), 1000, b"x" * 1000),
        (zipped(gzip.compress(b"x"), "identity, X-GZIP"), 1000, b"x"),
        (zipped(gzip.compress(b"x") + b"y" * (1 << 20)), 1000, b"x"),
    ],
)
async def test_a_body_within_the_limit_is_read_whole(body: Body, fault: Fault, limit: int, read: bytes) -> None:
    assert await body(fault, limit) == read


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (Fault(body="x" * 1001), "127.0.0.1 replied with more than 1000 bytes"),
        (zipped(BOMB), "more than 1000 bytes"),
        (zipped(gzip.compress(BOMB), "gzip, gzip"), "'gzip, gzip'"),
        (zipped(b"x", "br"), "'br'"),
        (zipped(gzip.compress(b"x" * 100)[:-9]), "broke off"),
    ],
)
async def test_a_body_that_is_too_long_or_coded_otherwise_is_a_reply_error_in_little_memory(
    body: Body, fault: Fault, why: str
) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ReplyError, match=why):
            await body(fault)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after-ms": "1500", "retry-after": "7"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_the_first_valid_retry_after_counts(headers: dict[str, str], seconds: float | None) -> None:
    assert kit.retry_after(headers) == seconds
