"""Bodies of bounded length, Retry-After, and the error that a plugin raises if a server refuses a call."""

from __future__ import annotations

import gzip
import tracemalloc
from collections.abc import Awaitable, Callable

import aiohttp
import httpx
import pytest
from standins.openai import Fault
from standins.web import serve

from robust_qa import ContextError, RefusedError, ReplyError, UnavailableError
from rqa_http import Refusal, connection_error, read_body, retry_after

Body = Callable[..., Awaitable[bytes]]
BOMB = gzip.compress(bytes(64 << 20))


async def over_httpx(url: str, limit: int, **how: object) -> bytes:
    async with httpx.AsyncClient(trust_env=False) as client, client.stream("GET", url) as response:
        return await read_body(response, limit, **how)


async def over_aiohttp(url: str, limit: int, **how: object) -> bytes:
    async with aiohttp.ClientSession(auto_decompress=False) as session, session.get(url) as response:
        return await read_body(response, limit, **how)


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
    assert retry_after(headers) == seconds


@pytest.mark.parametrize(
    ("status", "body", "kind", "general", "hint"),
    [
        (200, b'{"error": {"message": "Unexpected endpoint"}}', UnavailableError, False, ""),
        (302, b"", RefusedError, True, "the final address"),
        (400, b'{"error": {"message": "Incorrect API key provided"}}', RefusedError, True, "the key"),
        (400, b'{"error": {"message": "Unknown field."}}', RefusedError, False, ""),
        (400, b'{"error": {"code": "context_length_exceeded"}}', ContextError, False, "the window"),
        (400, b'{"message": "flagged by moderation"}', RefusedError, False, "content filter"),
        (403, b"Forbidden", RefusedError, True, "the key"),
        (404, b'{"error": "no such model"}', RefusedError, True, "the model"),
        (408, b"", UnavailableError, False, ""),
        (413, b"", ContextError, False, "the window"),
        (429, b'{"error": {"type": "insufficient_quota"}}', RefusedError, True, "no credit"),
        (429, b"", UnavailableError, False, ""),
        (432, b"", RefusedError, True, "no credit"),
        (503, b"busy", UnavailableError, False, ""),
    ],
)
def test_a_refusal_says_whether_a_retry_helps_and_what_to_do(status, body, kind, general, hint):
    hints = {300: "the final address", 401: "the key", 404: "the model"}
    error = Refusal.of(status, body, {}).error("Failed.", hints=hints, window="the window")
    assert (type(error), error.general, hint in error.hint) == (kind, general, True)


def test_a_rate_limit_has_the_wait_that_the_server_asks_for():
    error = Refusal(429, headers={"retry-after": "7"}).error("Failed.")
    assert isinstance(error, UnavailableError) and error.limited and error.retry_after == 7
    assert not Refusal(429).error("Failed.", final=True).retryable


def test_a_server_on_this_machine_that_does_not_run_is_not_asked_again():
    assert not connection_error("searxng", "refused", local=True).retryable
    assert connection_error("searxng", "reset", local=True, reached=True).retryable
