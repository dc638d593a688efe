"""Requests a minute, evenly spaced, and the pauses that a provider asks for."""

from __future__ import annotations

import asyncio


class Pace:
    """Lets callers through at `rpm` requests a minute (None: as they come)."""

    def __init__(self, rpm: float | None) -> None:
        self._interval = 60.0 / rpm if rpm else 0.0
        self._next = 0.0
        self._paused_until = 0.0

    def pause(self, seconds: float) -> None:
        """Let nobody through for so long, those who wait already included."""
        self._paused_until = max(self._paused_until, asyncio.get_running_loop().time() + seconds)

    async def wait(self) -> None:
        """Return when it is the caller's turn."""
        if not self._interval and not self._paused_until:
            return
        now = asyncio.get_running_loop().time()
        turn = max(now, self._next)
        self._next = turn + self._interval
        while (wait := max(turn, self._paused_until) - asyncio.get_running_loop().time()) > 0:  # noqa: ASYNC110
            await asyncio.sleep(wait)
