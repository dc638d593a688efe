"""Files to passages: find files, read their text by its format, cut it, and tell what changed.

A format's reader gets a `File` and returns `Document`s; `read_text` reads text in parts.
"""

from __future__ import annotations

from .blocks import Block, Blocks, TemporarilyUnreadable, Unreadable, as_title, numbered, unlined, unwrapped
from .cutting import Cut, Excerpt
from .detection import format_of
from .document import Document, File, Formats, Report, report_hidden, report_left_out
from .encodings import charset
from .html import read_html
from .ignoring import Rules
from .isolation import Call, isolated, read
from .latex import without_escapes
from .markdown import read_markdown
from .plain import header_title, indent, read_plain
from .reading import read_code_file, read_file, read_text
from .sheets import read_table, rows_of
from .superscripts import superscript
from .tables import Row, are_names, delimiter_of, joined, read_csv, read_tsv, spanning
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
    "Formats",
    "Found",
    "Indexed",
    "Report",
    "Row",
    "Rules",
    "Skipped",
    "State",
    "TemporarilyUnreadable",
    "Unreadable",
    "are_names",
    "as_title",
    "charset",
    "check_known",
    "delimiter_of",
    "find",
    "format_of",
    "header_title",
    "indent",
    "is_gone",
    "is_skipped",
    "is_under",
    "isolated",
    "joined",
    "located",
    "lost",
    "numbered",
    "places",
    "read",
    "read_code_file",
    "read_csv",
    "read_file",
    "read_html",
    "read_markdown",
    "read_plain",
    "read_table",
    "read_text",
    "read_tsv",
    "removed",
    "report_hidden",
    "report_left_out",
    "rows_of",
    "settle",
    "shown",
    "spanning",
    "superscript",
    "unlined",
    "unmoved",
    "unwrapped",
    "without_escapes",
]
