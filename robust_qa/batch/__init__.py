"""Answer many questions: input rows, the run loop, output and resume."""

from __future__ import annotations

from .resume import answered_by
from .rows import check_rows, portable, unread_passages
from .tables import input_rows, table_delimiter, table_fields

__all__ = [
    "answered_by",
    "check_rows",
    "input_rows",
    "portable",
    "table_delimiter",
    "table_fields",
    "unread_passages",
]
