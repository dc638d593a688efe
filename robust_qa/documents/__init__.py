"""Tools for retrievers that read files: find files, extract their text, cut it into passages."""

from __future__ import annotations

from ..sanitize import tidy
from .blocks import Block, Blocks, TemporarilyUnreadable, Unreadable, as_title, unlined, unwrapped
from .cutting import Cut, Excerpt
from .document import Document, File, Report
from .encodings import charset
from .formats import read_file, read_text
from .html import read_html
from .isolation import Call, isolated, read
from .markup import without_escapes
from .plain import header_title, indent, read_plain
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
    "Blocks",
    "Call",
    "Cut",
    "Document",
    "Entry",
    "Excerpt",
    "File",
    "FileReader",
    "FileTable",
    "Found",
    "Indexed",
    "Report",
    "Skipped",
    "State",
    "TemporarilyUnreadable",
    "Unreadable",
    "as_title",
    "charset",
    "check_known",
    "find",
    "header_title",
    "indent",
    "is_gone",
    "is_skipped",
    "is_under",
    "isolated",
    "located",
    "lost",
    "places",
    "read",
    "read_file",
    "read_html",
    "read_plain",
    "read_text",
    "removed",
    "settle",
    "shown",
    "summarised",
    "tidy",
    "unlined",
    "unmoved",
    "unwrapped",
    "without_escapes",
]
