"""What HTTP headers say, for plugins that ask servers."""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from time import time


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by `retry-after-ms` or `Retry-After` (RFC 9110, 10.2.3), None where neither says.

    `headers` has no regard for case.
    """
    milliseconds, wish = headers.get("retry-after-ms"), headers.get("retry-after", "")
    try:
        seconds = float(milliseconds) / 1000 if milliseconds else float(wish)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(wish).timestamp() - time()
        except (ValueError, OverflowError):
            return None
    return max(0.0, seconds) if seconds < float("inf") else None
