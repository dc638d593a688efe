"""Tools for retrievers that read files: find files, extract their text, cut it into passages."""

from __future__ import annotations

from ..sanitize import tidy
from .blocks import Block, TemporarilyUnreadable, Unreadable
from .cutting import Cut, Excerpt
from .document import Document, Report
from .encodings import charset
from .isolation import Call, isolated, read
from .updating import Entry, FileReader, FileTable, Indexed, check_known, lost, removed, settle
from .walk import (
    MARKER,
    Found,
    Skipped,
    State,
    find,
    is_gone,
    is_skipped,
    is_under,
    located,
    places,
    shown,
    summarised,
    unmoved,
)

__all__ = [
    "MARKER",
    "Block",
    "Call",
    "Cut",
    "Document",
    "Entry",
    "Excerpt",
    "FileReader",
    "FileTable",
    "Found",
    "Indexed",
    "Report",
    "Skipped",
    "State",
    "TemporarilyUnreadable",
    "Unreadable",
    "charset",
    "check_known",
    "find",
    "is_gone",
    "is_skipped",
    "is_under",
    "isolated",
    "located",
    "lost",
    "places",
    "read",
    "removed",
    "settle",
    "shown",
    "summarised",
    "tidy",
    "unmoved",
]
