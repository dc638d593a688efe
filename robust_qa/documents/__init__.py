"""Tools for retrievers that read files: find files, extract their text, cut it into passages."""

from __future__ import annotations

from ..sanitize import tidy
from .charsets import charset
from .chunking import Cut
from .formats import Document, Report, Unreadable, read, unreadable_on_failure
from .headings import Heading, Section, sections, title_under
from .walk import MARKER, Found, Skipped, find, is_gone, places, shown

__all__ = [
    "MARKER",
    "Cut",
    "Document",
    "Found",
    "Heading",
    "Report",
    "Section",
    "Skipped",
    "Unreadable",
    "charset",
    "find",
    "is_gone",
    "places",
    "read",
    "sections",
    "shown",
    "tidy",
    "title_under",
    "unreadable_on_failure",
]
