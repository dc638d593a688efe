"""How many calls a component stands at once, those included whose threads go on when their callers have left."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")

_THREADS = 64  # of one gate, at most


def finished(function: Callable[..., T], *arguments: Any) -> T:
    """What `function` gives, for worker threads: no future takes a StopIteration, and whoever waits would for ever."""
    try:
        return function(*arguments)
    except StopIteration as error:
        raise RuntimeError(f"{getattr(function, '__name__', 'it')} raised StopIteration") from error


class Job:
    """A call in a worker thread, if it came to one; the thread works on when its caller is cancelled."""

    def __init__(self) -> None:
        self._future: Future[Any] | None = None

    async def run(self, threads: ThreadPoolExecutor, function: Callable[..., Any], *arguments: Any) -> Any:
        """What `function` gives, called in one of `threads`."""
        self._future = threads.submit(contextvars.copy_context().run, finished, function, *arguments)
        return await asyncio.wrap_future(self._future)

    def works_on(self) -> bool:
        """Whether its thread still runs."""
        return self._future is not None and not self._future.done()

    def leave_behind(self, act: Callable[[], None]) -> None:
        """Nobody waits for it any more; the event loop shall `act` when its thread ends."""
        assert self._future is not None
        loop = asyncio.get_running_loop()

        def tell(_: object) -> None:
            with suppress(RuntimeError):  # the loop has ended, and with it whoever waited
                loop.call_soon_threadsafe(act)

        self._future.add_done_callback(tell)


class Gate:
    """As many places as there may be calls at once. A thread that outlives its caller keeps the place that it had.

    The threads are the gate's own, so that those who hang hold up nobody else.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._threads = ThreadPoolExecutor(min(width, _THREADS), thread_name_prefix="rqa")  # named for cli.main
        self._places = asyncio.Semaphore(width)
        self._left: list[Job] = []
        self._waiting: dict[asyncio.Timeout, float | None] = {}  # how patient each is

    @property
    def holds_leftovers(self) -> bool:
        """Whether a thread that outlived its caller still runs."""
        return any(job.works_on() for job in self._left)

    async def enter(self, patience: float | None) -> None:
        """Take a place. TimeoutError where no caller but only threads without one were in them for `patience` seconds.

        Behind callers one waits for as long as it takes: each leaves in its time.
        """
        async with asyncio.timeout_at(self._until(patience)) as limit:
            self._waiting[limit] = patience
            try:
                await self._places.acquire()
            finally:
                del self._waiting[limit]

    async def run(self, job: Job, function: Callable[..., Any], *arguments: Any) -> Any:
        """What `function` gives, called in a thread that is then that of `job`."""
        return await job.run(self._threads, function, *arguments)

    def leave(self, job: Job) -> None:
        """Give the place back, as soon as the thread of `job` has ended."""
        if not job.works_on():
            self._places.release()
            return
        self._left.append(job)
        self._limit_waiting()
        job.leave_behind(lambda: self._free(job))

    def close(self) -> None:
        """End the threads; those that work on are not waited for."""
        self._threads.shutdown(wait=not self.holds_leftovers, cancel_futures=True)

    def _free(self, job: Job) -> None:
        self._left.remove(job)
        self._limit_waiting()
        self._places.release()

    def _limit_waiting(self) -> None:
        for limit, patience in self._waiting.items():
            if not limit.expired():
                limit.reschedule(self._until(patience))

    def _until(self, patience: float | None) -> float | None:
        if patience is None or len(self._left) < self._width:
            return None
        return asyncio.get_running_loop().time() + patience
