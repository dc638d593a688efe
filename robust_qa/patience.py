"""Which failures of a call are tried again, and when."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

from .errors import RqaError, UnavailableError
from .pace import Pace

LIMITED_AT_MOST = 600.0  # seconds in which a provider may refuse a call as one too many
_FIRST_WAIT = 0.5  # seconds after a failure, doubled with each further one
_WAIT_AT_MOST = 30.0


class Patience:
    """That of one call: `retries` further attempts after failures that may pass (0: none, whatever happens).

    A refusal of one call too many is not counted: the `pace` sees to it that it comes to its turn again. A call that
    was `given_up` meanwhile is not made again, whatever its end looks like.
    """

    def __init__(self, retries: int, pace: Pace, given_up: Callable[[], bool]) -> None:
        self._retries = retries
        self._pace = pace
        self._given_up = given_up
        self._failures = 0
        self._refused_since: float | None = None

    def __call__(self, error: RqaError) -> float | None:
        """Seconds to wait before the next attempt, None where there shall be none."""
        if not self._retries or self._given_up() or not error.retryable:
            return None
        if isinstance(error, UnavailableError) and error.limited:
            return 0.0 if not error.general and self._bears(error) else None
        self._failures += 1
        wait = _FIRST_WAIT * 2 ** (self._failures - 1) + random.random()
        return min(wait, _WAIT_AT_MOST) if self._failures <= self._retries else None

    def _bears(self, error: UnavailableError) -> bool:
        now = asyncio.get_running_loop().time()
        if self._refused_since is None:
            self._refused_since = now
        if now - self._refused_since < LIMITED_AT_MOST:
            return True
        error.general = self._pace.taken_at < self._refused_since
        asked = f"It was asked for {LIMITED_AT_MOST / 60:.0f} minutes."
        if not error.hint.startswith(asked):  # it may be told to several, each of whom asked as long
            error.hint = f"{asked} {error.hint}".strip()
        return False
