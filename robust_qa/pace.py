"""Requests a minute, evenly spaced, and the pauses that a provider asks for."""

from __future__ import annotations

import asyncio


class Pace:
    """Lets callers through at `rpm` requests a minute (None: as they come)."""

    def __init__(self, rpm: float | None) -> None:
        self._interval = 60.0 / rpm if rpm else 0.0
        self._next = 0.0
        self._paused_until = 0.0
        self._first_in_line = asyncio.Lock()

    def pause(self, seconds: float) -> None:
        """Let nobody through for so long, those who wait already included."""
        self._paused_until = max(self._paused_until, asyncio.get_running_loop().time() + seconds)

    async def wait(self) -> None:
        """Return when it is the caller's turn."""
        if not self._interval and not self._paused_until:
            return
        time = asyncio.get_running_loop().time
        # Only the first in line has a turn, so that no turns pass during a pause and are made up for after it.
        async with self._first_in_line:
            turn = max(time(), self._next)
            while (wait := max(turn, self._paused_until) - time()) > 0:  # noqa: ASYNC110
                await asyncio.sleep(wait)
            self._next = max(turn, self._paused_until) + self._interval
