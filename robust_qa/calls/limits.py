"""The host's options of every component, and when calls are made: requests a minute, pauses after a 429, retries."""

from __future__ import annotations

import asyncio
import dataclasses
import math
import random
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from ..errors import ConfigError, RqaError, UnavailableError
from ..types import Kind, Usage

_BATCH_DISCOUNT = 0.5  # of a provider's batch API


@dataclass(frozen=True, slots=True)
class Limits:
    """The options that the host applies to every component."""

    concurrency: Annotated[int, Meta(ge=1)] | None = None  # concurrent calls; default: set by the component
    rpm: Annotated[float, Meta(gt=0)] | None = None  # requests a minute; default: no limit
    timeout: Annotated[float, Meta(ge=0)] | None = None  # seconds one attempt may take; 0: no limit
    retries: Annotated[int, Meta(ge=0)] = 4  # more attempts after a temporary failure
    prompt_price: Annotated[float, Meta(ge=0)] | None = None  # of a million prompt tokens, in a currency of your choice
    completion_price: Annotated[float, Meta(ge=0)] | None = None  # of a million completion tokens

    most_calls: Annotated[int, Meta(ge=1)] | None = None  # calls that one command or session may make
    most_cost: Annotated[float, Meta(gt=0)] | None = None  # price that the calls of one command or session may have

    def cost(self, usage: Usage) -> float | None:
        """The price of the tokens in `usage`, None without prices. Calls in a provider's batch cost half."""
        if self.prompt_price is None and self.completion_price is None:
            return None
        prices = (self.prompt_price or 0.0) * usage.prompt_tokens + (
            self.completion_price or 0.0
        ) * usage.completion_tokens
        discount = _BATCH_DISCOUNT * usage.batched / usage.calls if usage.batched else 0.0
        return prices * (1.0 - discount) / 1e6


class Ceiling:
    """Counts the calls of a component and their tokens, and refuses more than its limits allow."""

    def __init__(self, name: str, limits: Limits) -> None:
        self._name = name
        self._limits = limits
        self._calls = self._in_flight = 0
        self._spent = 0.0
        self._dearest: float | None = None
        self._left = asyncio.Event()
        if limits.most_cost and limits.prompt_price is None and limits.completion_price is None:
            raise ConfigError(
                f"{name} has `most_cost` and no price.", hint="Set `prompt_price` and `completion_price` beside it."
            )

    async def enter(self, *, together: bool = False) -> None:
        """Count a call that begins. Call `leave` afterwards. Raises UnavailableError if it would exceed a limit.

        A call is expected to cost as much as the dearest one so far. If those in flight may use up the rest of
        `most_cost`, it waits for them, as it does for the very first one. Calls that go out `together` do not wait.
        """
        most = self._limits.most_cost
        while most is not None and self._in_flight and not together:
            if self._dearest is not None and self._spent + (self._in_flight + 1) * self._dearest <= most:
                break
            self._left.clear()
            await self._left.wait()
        for name, reached in (
            ("most_calls", self._calls >= (self._limits.most_calls or math.inf)),
            ("most_cost", most is not None and (self._spent + (self._dearest or 0.0) > most or self._spent >= most)),
        ):
            if reached:
                message = f"{self._name} reached its limit `{name}` of {getattr(self._limits, name):g}."
                raise UnavailableError(message, hint="Raise it to go on.", general=True, limited=True)
        self._calls += 1
        self._in_flight += 1

    def leave(self, usage: Usage) -> None:
        """Record the end of a call that used `usage`."""
        cost = self._limits.cost(usage) or 0.0
        self._spent += cost
        self._dearest = max(cost, self._dearest or 0.0)
        self._in_flight -= 1
        self._left.set()


RESERVED = frozenset({"plugin", *(field.name for field in dataclasses.fields(Limits))})


def reserved(kind: Kind) -> frozenset[str]:
    """The option names that the host reads in tables of that kind. Only those that make calls have limits.

    A component that has an option of the same name gets its value too.
    """
    return RESERVED if kind in ("retriever", "reader", "evaluator", "embedder") else frozenset({"plugin"})


_FIRST_WAIT = 0.5  # seconds after a 429 without Retry-After; doubled with each further one in a row
_LONGEST_OWN_WAIT = 30.0
LONGEST_WAIT = 120.0  # seconds: a longer Retry-After is an error


class Closed(Exception):
    """The provider asked for a pause of `seconds`, which is longer than LONGEST_WAIT."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds


class RateLimit:
    """Limits calls to `rpm` requests a minute (None: no limit).

    The provider's own limit is unknown until it returns 429. Then all calls pause, and the concurrency drops to half of
    the calls in flight. Afterwards each full round of accepted calls raises it by one.
    """

    def __init__(self, rpm: float | None) -> None:
        self._interval = 60.0 / rpm if rpm else 0.0
        self._next = 0.0
        self._paused_until = 0.0
        self._queue = asyncio.Lock()
        self._in_flight = 0
        self._width = math.inf  # concurrency limit
        self._room = asyncio.Event()
        self._rounds = 0  # number of rounds that were refused
        self._in_a_row = 0  # refused rounds since the last accepted call
        self.accepted_at = -math.inf  # time of the last accepted call, by the event loop's clock

    async def enter(self) -> int:
        """Wait for a turn and return the number of the round, for `refused`. Call `leave` afterwards.

        Raises Closed if the provider asked for a pause of more than LONGEST_WAIT.
        """
        if self._interval or self._rounds:
            async with self._queue:  # one at a time, so that calls stay spaced after a pause
                await self._turn()
        self._in_flight += 1
        return self._rounds

    def leave(self) -> None:
        """Record the end of a call."""
        self._in_flight -= 1
        self._room.set()

    def accepted(self) -> None:
        """Record that the provider accepted a call."""
        self.accepted_at = asyncio.get_running_loop().time()
        self._in_a_row = 0
        self._width += 1 / self._width

    def refused(self, number: int, retry_after: float | None) -> None:
        """Record that the provider returned 429 to a call of round `number`."""
        if number == self._rounds:  # only the first refusal of a round counts
            self._rounds += 1
            self._in_a_row += 1
            self._width = max(min(self._width, self._in_flight) / 2, 1.0)
            if retry_after is None or self._in_a_row > 1:  # or its previous wait was too short
                own = min(_FIRST_WAIT * 2 ** (self._in_a_row - 1), _LONGEST_OWN_WAIT)
                retry_after = max(retry_after or 0.0, own)
        self._paused_until = max(self._paused_until, asyncio.get_running_loop().time() + (retry_after or 0.0))

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


LONGEST_LIMITED = 600.0  # seconds to keep retrying after 429
_FIRST_RETRY = 0.5  # seconds after the first failure; doubled with each further one
_LONGEST_RETRY = 30.0


class RetryPolicy:
    """Decides on the retries of one call: at most `retries` after temporary failures (0: none).

    A 429 does not count, because the rate limit makes the call wait for its turn.
    """

    def __init__(self, retries: int, rate: RateLimit) -> None:
        self._retries = retries
        self._rate = rate
        self._failures = 0
        self._limited_since: float | None = None

    def wait(self, error: RqaError) -> float | None:
        """Return the seconds to wait before the next attempt, None to give up."""
        if not self._retries or not error.retryable:
            return None
        if isinstance(error, UnavailableError) and error.limited:
            return None if error.general or self._limited_too_long(error) else 0.0
        self._failures += 1
        wait = _FIRST_RETRY * 2 ** (self._failures - 1) + random.random()
        return min(wait, _LONGEST_RETRY) if self._failures <= self._retries else None

    def _limited_too_long(self, error: UnavailableError) -> bool:
        now = asyncio.get_running_loop().time()
        if self._limited_since is None:
            self._limited_since = now
        if now - self._limited_since < LONGEST_LIMITED:
            return False
        error.general = self._rate.accepted_at < self._limited_since  # no other call was accepted either
        error.hint = f"rqa tried for {LONGEST_LIMITED / 60:.0f} minutes. {error.hint}".strip()
        return True
