"""What HTTP headers say, for plugins that ask servers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from time import time


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by `retry-after-ms` or `Retry-After` (RFC 9110, 10.2.3), None where neither says.

    `headers` has no regard for case.
    """
    wish = headers.get("retry-after", "")
    readings: tuple[Callable[[], float], ...] = (
        lambda: float(headers.get("retry-after-ms", "")) / 1000,
        lambda: float(wish),
        lambda: parsedate_to_datetime(wish).timestamp() - time(),
    )
    for reading in readings:
        with suppress(ValueError, OverflowError):
            if (seconds := reading()) < float("inf"):
                return max(0.0, seconds)
    return None
