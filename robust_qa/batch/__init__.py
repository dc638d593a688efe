"""Answer many questions: input rows, the run loop, output and resume."""

from __future__ import annotations

from .resume import answered_by
from .rows import check_rows, portable, read_passages, unread_passages

__all__ = [
    "answered_by",
    "check_rows",
    "portable",
    "read_passages",
    "unread_passages",
]
