"""Deduplication: equal calls in flight are made once, and everybody who asked waits for that one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from ..types import Usage


class SharedCall:
    """Work in a task of its own, cancelled when the last of those who wait for it leaves.

    `work` gets this object. It adds to `usage` what was spent on attempts that gave no result.
    """

    def __init__(
        self,
        work: Callable[[SharedCall], Coroutine[Any, Any, Any]],
        start: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]] = asyncio.create_task,
    ) -> None:
        self._task = start(work(self))
        # When everybody has left, nobody retrieves the error, and asyncio would log it.
        self._task.add_done_callback(lambda task: task.cancelled() or task.exception())
        self.usage = Usage()
        self._waiting = 0
        self._charged = False

    async def join(self) -> Any:
        """Wait for the result of the work. Raises its error."""
        self._waiting += 1
        try:
            return await asyncio.shield(self._task)
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._task.cancel()

    def charge(self) -> bool:
        """True for the first who asks: usage is charged to one caller only."""
        first, self._charged = not self._charged, True
        return first

    @property
    def over(self) -> bool:
        """Whether it has a result, or nobody waits for one."""
        return not self._waiting or self._task.done()

    @property
    def abandoned(self) -> bool:
        """Whether everybody left before there was a result."""
        return self._task.cancelled() or (not self._waiting and not self._task.done())
