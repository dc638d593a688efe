"""Limits on the answers in progress: how many, and how long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from .requests import ApiError


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
