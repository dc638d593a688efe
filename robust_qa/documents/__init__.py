"""Tools for retrievers that read files: find files, extract their text, cut it into passages."""

from __future__ import annotations

from ..sanitize import tidy
from .blocks import Block, Unreadable
from .cutting import Cut, Excerpt
from .document import Document, Report
from .encodings import charset
from .isolation import Call, isolated, read
from .updating import Entry, FileReader, check_known, lost, removed
from .walk import MARKER, Found, Skipped, find, is_gone, is_skipped, shown

__all__ = [
    "MARKER",
    "Block",
    "Call",
    "Cut",
    "Document",
    "Entry",
    "Excerpt",
    "FileReader",
    "Found",
    "Report",
    "Skipped",
    "Unreadable",
    "charset",
    "check_known",
    "find",
    "is_gone",
    "is_skipped",
    "isolated",
    "lost",
    "read",
    "removed",
    "shown",
    "tidy",
]
