"""How fast calls go out: requests a minute as configured, and no faster than the provider takes them."""

from __future__ import annotations

import asyncio
import math

_FIRST_WAIT = 0.5  # seconds, where a provider that refuses does not say how long; doubled with each refusal in a row
_WAIT_AT_MOST = 30.0
LONGEST_WAIT = 120.0  # seconds that anybody waits because a provider wishes so


class Closed(Exception):
    """The provider takes no calls for `seconds`, which is longer than anybody waits."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds


class Pace:
    """Lets callers through at `rpm` requests a minute (None: as they come).

    What a provider stands nobody knows before it refuses a call as one too many. Then all pause, and half as many as
    were in flight go on; each round of them that it takes makes room for one more.
    """

    def __init__(self, rpm: float | None) -> None:
        self._interval = 60.0 / rpm if rpm else 0.0
        self._next = 0.0
        self._paused_until = 0.0
        self._first_in_line = asyncio.Lock()
        self._in_flight = 0
        self._width = math.inf  # in flight at most
        self._room = asyncio.Event()
        self._refusals = 0  # rounds
        self._in_a_row = 0  # of those, since a call was taken
        self.taken_at = -math.inf  # when the provider last took a call, by the event loop's time

    async def enter(self) -> int:
        """Return when it is the caller's turn, who shall `leave`: the round that it belongs to, for `refused`.

        Raises Closed where the provider asks for too long a pause.
        """
        if self._interval or self._refusals:
            async with self._first_in_line:  # so that no turns pass during a pause and are made up for after it
                await self._turn()
        self._in_flight += 1
        return self._refusals

    def leave(self) -> None:
        """The call is over."""
        self._in_flight -= 1
        self._room.set()

    def taken(self) -> None:
        """The provider took a call."""
        self.taken_at = asyncio.get_running_loop().time()
        self._in_a_row = 0
        self._width += 1 / self._width

    def refused(self, number: int, wait: float | None) -> None:
        """The provider refused a call of round `number` as one too many, and asks all to `wait` so many seconds."""
        if number == self._refusals:  # the others of a round are refused for what the first was
            self._refusals += 1
            self._in_a_row += 1
            self._width = max(min(self._width, self._in_flight) / 2, 1.0)
            if wait is None or self._in_a_row > 1:  # a wish that was granted and did not help was too small
                wait = max(wait or 0.0, min(_FIRST_WAIT * 2 ** (self._in_a_row - 1), _WAIT_AT_MOST))
        self._paused_until = max(self._paused_until, asyncio.get_running_loop().time() + (wait or 0.0))

    async def _turn(self) -> None:
        time = asyncio.get_running_loop().time
        turn = max(time(), self._next)
        while True:
            if (pause := self._paused_until - time()) > LONGEST_WAIT:
                raise Closed(pause)
            if (wait := max(turn, self._paused_until) - time()) > 0:
                await asyncio.sleep(wait)
            elif self._in_flight >= self._width:
                self._room.clear()
                await self._room.wait()
                turn = max(turn, time())
            else:
                break
        self._next = max(turn, self._paused_until) + self._interval
