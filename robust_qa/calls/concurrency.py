"""Concurrency limits: slots for calls, and the worker threads of plain `def` methods."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")

_MOST_THREADS = 64  # of one Slots


def call(function: Callable[..., T], *arguments: Any) -> T:
    """Call `function` in a worker thread. A StopIteration becomes a RuntimeError."""
    try:
        return function(*arguments)
    except StopIteration as error:  # a future rejects it, and the caller would wait forever
        raise RuntimeError(f"{getattr(function, '__name__', 'it')} raised StopIteration") from error


def in_daemon(function: Callable[..., T], *arguments: Any) -> Future[T]:
    """Start `function` in a daemon thread, so that the process can exit while it hangs. Return its future."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()  # it cannot be cancelled
    context = contextvars.copy_context()

    def work() -> None:
        try:
            future.set_result(context.run(call, function, *arguments))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=work, name="rqa_daemon", daemon=True).start()
    return future


class Slot:
    """The slot of one call. A call in a worker thread keeps its slot until the thread has finished."""

    def __init__(self, threads: ThreadPoolExecutor) -> None:
        self._threads = threads
        self._future: Future[Any] | None = None

    def run(self, function: Callable[..., Any], *arguments: Any) -> asyncio.Future[Any]:
        """Start `function` in a worker thread. Await its result."""
        self._future = self._threads.submit(contextvars.copy_context().run, call, function, *arguments)
        return asyncio.wrap_future(self._future)

    @property
    def busy(self) -> bool:
        """Whether its thread is still running."""
        return self._future is not None and not self._future.done()

    def when_free(self, act: Callable[[], None]) -> None:
        """Call `act` in the event loop when the thread has finished."""
        assert self._future is not None
        loop = asyncio.get_running_loop()

        def notify(_: object) -> None:
            with suppress(RuntimeError):  # the event loop is closed
                loop.call_soon_threadsafe(act)

        self._future.add_done_callback(notify)


class Slots:
    """A limit of `width` concurrent calls, with its own worker threads: a call that hangs blocks no other component.

    A thread cannot be stopped. It keeps its slot until it finishes, even after its caller was cancelled.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        # main() recognises these threads by the prefix, and does not wait for them at exit.
        self._threads = ThreadPoolExecutor(min(width, _MOST_THREADS), thread_name_prefix="rqa")
        self._free = asyncio.Semaphore(width)
        self._abandoned: list[Slot] = []

    @property
    def busy(self) -> bool:
        """Whether the thread of a cancelled caller still runs."""
        return any(slot.busy for slot in self._abandoned)

    async def enter(self, timeout: float | None) -> Slot:  # noqa: ASYNC109  (one round of waiting)
        """Wait for a slot. Raises TimeoutError if abandoned threads keep all slots after `timeout` seconds.

        There is no limit while any slot belongs to a caller that still waits for its result.
        """
        while True:
            try:
                async with asyncio.timeout(timeout):
                    await self._free.acquire()
                return Slot(self._threads)
            except TimeoutError:
                if len(self._abandoned) == self._width:
                    raise

    def leave(self, slot: Slot) -> None:
        """Release the slot, at once or when its thread has finished."""
        if not slot.busy:
            self._free.release()
            return
        self._abandoned.append(slot)
        slot.when_free(lambda: self._recover(slot))

    def close(self) -> None:
        """End the worker threads. Does not wait for abandoned ones."""
        self._threads.shutdown(wait=not self.busy, cancel_futures=True)

    def _recover(self, slot: Slot) -> None:
        self._abandoned.remove(slot)
        self._free.release()
