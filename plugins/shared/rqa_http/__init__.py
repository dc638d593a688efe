"""HTTP for plugins: replies of bounded length, errors of servers as errors of rqa, and serving an application.

`rqa_http.serving` has the options and the server of commands that listen.
"""

from __future__ import annotations

from .bodies import body_parts, read_body, retry_after
from .refusals import FILTERED, Refusal, connection_error, httpx_errors, json_object

__all__ = [
    "FILTERED",
    "Refusal",
    "body_parts",
    "connection_error",
    "httpx_errors",
    "json_object",
    "read_body",
    "retry_after",
]
