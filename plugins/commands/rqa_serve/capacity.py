"""Limits on the answers in progress: how many, how long, and only while their client waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import ApiError

if TYPE_CHECKING:
    from starlette.types import Receive

T = TypeVar("T")


class ClientGone(Exception):
    """The client has closed its connection."""


class Capacity:
    """At most `jobs` answers at once, and as many requests again that wait. Each request has `seconds`."""

    def __init__(self, jobs: int, seconds: float) -> None:
        self.requests = 0  # in progress or waiting
        self._most = 2 * jobs
        self._slots = asyncio.Semaphore(jobs)
        self._seconds = seconds

    @contextmanager
    def admitted(self) -> Iterator[None]:
        """Count a request. Raises ApiError if too many wait already."""
        if self.requests >= self._most:
            raise ApiError(429, "Too many requests are waiting. Try again later.", "rate_limit_error")
        self.requests += 1
        try:
            yield
        finally:
            self.requests -= 1

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a slot, and limit the time, including the wait. Raises ApiError when it is over."""
        limit = asyncio.timeout(self._seconds)
        try:
            async with limit, self._slots:
                yield
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise ApiError(504, f"No answer within {self._seconds:g} s.", "timeout_error") from error


async def unless_gone(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of `work`. If the client leaves first, cancel `work` and raise ClientGone."""
    working, leaving = asyncio.create_task(work), asyncio.create_task(_gone(receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientGone
        return working.result()
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
