"""Deduplication: equal calls in flight are made once and share the result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from ..types import Usage


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
