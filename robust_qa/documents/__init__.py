"""Tools for retrievers that read files: find files, extract their text, cut it into passages."""

from __future__ import annotations

from ..sanitize import tidy
from .blocks import Block
from .charsets import charset
from .cutting import Cut, Excerpt
from .formats import Document, Report, Unreadable, read, unreadable_on_failure
from .updating import Entry, FileReader, check_known, lost, removed, report_kept, state_of
from .walk import MARKER, Found, Skipped, find, is_gone, located, shown

__all__ = [
    "MARKER",
    "Block",
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
    "located",
    "lost",
    "read",
    "removed",
    "report_kept",
    "shown",
    "state_of",
    "tidy",
    "unreadable_on_failure",
]
