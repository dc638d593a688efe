"""Requests of different questions, merged into one engine batch."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from ..kit.warnings import listening, remark

_AT_MOST = 256  # requests of one batch


class Batcher:
    """Runs one batch at a time; what arrives meanwhile makes the next one.

    No timer and no fixed size: an idle engine starts at once, a busy one finds its next batch as large as
    the demand. `run` takes a list of requests and gives as many results, in order.
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
        """The result of `request`. What was remarked of its batch is remarked here again, to each of its callers."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, future))
        if self._worker is None or self._worker.done():
            self._worker = self._begin(self._work())
        result, remarks = await future
        for text in remarks:
            remark(text)
        return result

    async def _work(self) -> None:
        while self._waiting:
            await asyncio.sleep(0)  # let every caller that is ready join
            batch, self._waiting = self._waiting[:_AT_MOST], self._waiting[_AT_MOST:]
            batch = [(request, future) for request, future in batch if not future.cancelled()]
            if batch:
                await self._serve(batch)

    async def _serve(self, batch: list[tuple[tuple[Any, ...], asyncio.Future[Any]]]) -> None:
        try:
            # The worker was begun by one caller, who is to hear nothing of the others' batches.
            with listening() as remarks:
                results = await self._run([request for request, _ in batch])
            served = [*zip(batch, results, strict=True)]
        except BaseException as error:
            if len(batch) > 1 and isinstance(error, Exception) and not getattr(error, "retryable", False):
                for one in batch:  # only what one of them asked can be to blame, so each is asked alone
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
                future.set_result((result, remarks))
