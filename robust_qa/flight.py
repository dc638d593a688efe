"""Single flight: equal calls at once are one call, with everybody waiting for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from .types import Usage


class Flight:
    """Work under way, and how many are waiting for it; it ends when the last of them leaves.

    `work` is handed the flight, to see whether it is `over` and to add to its `usage` what has no result to tell it.
    """

    def __init__(
        self,
        work: Callable[[Flight], Coroutine[Any, Any, Any]],
        begin: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]] = asyncio.create_task,
    ) -> None:
        self._task = begin(work(self))
        # Its error is for those who wait. Where they have all left it is for nobody, which asyncio would log.
        self._task.add_done_callback(lambda task: task.cancelled() or task.exception())
        self.usage = Usage()
        self._waiting = 0
        self._claimed = False

    async def join(self) -> Any:
        """What the work gives, or its error."""
        self._waiting += 1
        try:
            return await asyncio.shield(self._task)
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._task.cancel()

    def claim(self) -> bool:
        """Whether the caller is the first to ask: what the work took is told of one."""
        first, self._claimed = not self._claimed, True
        return first

    @property
    def over(self) -> bool:
        """Whether it has a result, or nobody waits for one."""
        return not self._waiting or self._task.done()

    @property
    def abandoned(self) -> bool:
        """Whether everybody left before it had a result: it will have none."""
        return self._task.cancelled() or (not self._waiting and not self._task.done())
