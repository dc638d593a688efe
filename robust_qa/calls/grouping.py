"""Merge requests of several questions into one call, such as `score_many`, and make equal calls in flight once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from ..kit.warnings import collected_warnings, warn
from ..types import Usage

_MAX_BATCH = 256  # requests


class Batcher:
    """Runs one batch at a time. Requests that arrive meanwhile form the next batch.

    There is no timer and no fixed size, so an idle component starts at once. `run` takes a list of requests and
    returns their results in order.
    """

    def __init__(
        self,
        run: Callable[[list[tuple[Any, ...]]], Awaitable[list[Any]]],
        begin: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]] = asyncio.create_task,
    ) -> None:
        self._run = run
        self._begin = begin
        self._waiting: list[tuple[tuple[Any, ...], asyncio.Future[Any]]] = []
        self._worker: asyncio.Task[None] | None = None

    async def submit(self, request: tuple[Any, ...]) -> Any:
        """Return the result of `request`. Every caller gets the warnings of its batch."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, future))
        if self._worker is None or self._worker.done():
            self._worker = self._begin(self._work())
        result, warnings = await future
        for text in warnings:
            warn(text)
        return result

    async def _work(self) -> None:
        while self._waiting:
            await asyncio.sleep(0)  # let every ready caller join
            batch, self._waiting = self._waiting[:_MAX_BATCH], self._waiting[_MAX_BATCH:]
            batch = [(request, future) for request, future in batch if not future.cancelled()]
            if batch:
                await self._serve(batch)

    async def _serve(self, batch: list[tuple[tuple[Any, ...], asyncio.Future[Any]]]) -> None:
        try:
            # Otherwise the caller that started the worker would get the warnings of all batches.
            with collected_warnings() as warnings:
                results = await self._run([request for request, _ in batch])
            served = [*zip(batch, results, strict=True)]
        except BaseException as error:
            if len(batch) > 1 and isinstance(error, Exception) and not _concerns_all(error):
                for one in batch:  # one request may have caused the error, so retry them separately
                    await self._serve([one])
                return
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
            if not isinstance(error, Exception):
                raise
            return
        for (_, future), result in served:
            if not future.done():
                future.set_result((result, warnings))


def _concerns_all(error: Exception) -> bool:
    """Return whether the error does not depend on the request: a wrong key, or a temporary failure."""
    return getattr(error, "retryable", False) or getattr(error, "general", False)


class SharedCall:
    """A call in its own task, which is cancelled when the last caller leaves.

    `work` gets this object, and adds the usage of failed attempts to `usage`.
    """

    def __init__(
        self,
        work: Callable[[SharedCall], Coroutine[Any, Any, Any]],
        start: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]] = asyncio.create_task,
    ) -> None:
        self._task = start(work(self))
        # Retrieve the error even if all callers have left, because asyncio would log it.
        self._task.add_done_callback(lambda task: task.cancelled() or task.exception())
        self.usage = Usage()
        self._waiting = 0
        self._charged = False

    @contextmanager
    def joined(self) -> Iterator[asyncio.Future[Any]]:
        """Await the result, or the error of the call, within the block."""
        self._waiting += 1
        try:
            yield asyncio.shield(self._task)
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._task.cancel()

    def charge(self) -> bool:
        """Return True for the first caller only, which is charged with the usage."""
        first, self._charged = not self._charged, True
        return first

    @property
    def over(self) -> bool:
        """Whether the call has ended or has no callers."""
        return not self._waiting or self._task.done()

    @property
    def abandoned(self) -> bool:
        """Whether all callers left before the call ended."""
        return self._task.cancelled() or (not self._waiting and not self._task.done())
