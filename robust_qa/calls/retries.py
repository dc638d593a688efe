"""Which failed calls are retried, and when."""

from __future__ import annotations

import asyncio
import random

from ..errors import RqaError, UnavailableError
from .rate_limit import RateLimit

LONGEST_LIMITED = 600.0  # seconds to keep retrying after 429
_FIRST_WAIT = 0.5  # seconds after the first failure; doubled with each further one
_LONGEST_WAIT = 30.0


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
        wait = _FIRST_WAIT * 2 ** (self._failures - 1) + random.random()
        return min(wait, _LONGEST_WAIT) if self._failures <= self._retries else None

    def _limited_too_long(self, error: UnavailableError) -> bool:
        now = asyncio.get_running_loop().time()
        if self._limited_since is None:
            self._limited_since = now
        if now - self._limited_since < LONGEST_LIMITED:
            return False
        error.general = self._rate.accepted_at < self._limited_since  # no other call was accepted either
        error.hint = f"rqa tried for {LONGEST_LIMITED / 60:.0f} minutes. {error.hint}".strip()
        return True
