"""Tools for retrievers that read files: find files, extract their text, cut it into passages."""

from __future__ import annotations

from ..sanitize import tidy
from .blocks import Block
from .charsets import charset
from .cutting import Cut, Excerpt
from .formats import Document, Report, Unreadable, read, unreadable_on_failure
from .updating import Entry, FileReader, check_known, lost, removed
from .walk import MARKER, Found, Skipped, find, is_gone, is_skipped, shown

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
    "is_skipped",
    "lost",
    "read",
    "removed",
    "shown",
    "tidy",
    "unreadable_on_failure",
]
