"""Single flight: equal calls at once are one call, with everybody waiting for it."""

from __future__ import annotations

import asyncio
from typing import Any


class Flight:
    """A call under way, and how many are waiting for it; it ends when the last of them leaves."""

    def __init__(self, task: asyncio.Task[Any]) -> None:
        self._task = task
        self._waiting = 0

    async def join(self) -> Any:
        """The call's result, or its error."""
        self._waiting += 1
        try:
            return await asyncio.shield(self._task)
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._task.cancel()

    @property
    def over(self) -> bool:
        """Whether it has a result, or nobody waits for one."""
        return not self._waiting or self._task.done()

    @property
    def abandoned(self) -> bool:
        """Whether everybody left before it had a result: it will have none."""
        return self._task.cancelled() or (not self._waiting and not self._task.done())
