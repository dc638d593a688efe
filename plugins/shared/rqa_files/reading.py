"""Read files of all formats as documents with title, blocks, id and source.

A row of a corpus, a sheet, a slide and a message of a mailbox are documents of their own. Any other file is one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TextIO

from .blocks import Block, Unreadable, title_of
from .detection import NOT_TEXT, format_of
from .document import Document, File, Report
from .plain import read_code, read_plain

_PART = 1 << 20  # characters per document; a longer text file is split
_LIGHT = ("plain", "markdown", "code", "script", "jsonl", "table")  # formats that cost little to read
_MARKUP = ("html", "page")


def read(file: File, report: Report) -> Iterator[Document]:
    """Read the documents of a file in this process. Raises Unreadable or OSError.

    A file is unreadable if it has more than its limit of bytes when decompressed, or of characters of text.
    """
    size = 0
    for document in read_file(file, report):
        size += sum(len(block.text) for block in document.blocks)
        if size > file.limit:
            raise Unreadable(f"it has more than {file.limit / 1e6:,.0f} million characters of text")
        yield document


def risk(file: File) -> float:
    """Return the size of a file in bytes, eight times that for markup, infinity for all but simple text."""
    try:
        format, size = format_of(file), file.path.stat().st_size
    except (OSError, Unreadable):
        return math.inf
    if file.is_compressed or format is None or format.version or format.name not in (*_LIGHT, *_MARKUP):
        return math.inf
    return size if format.name in _LIGHT else size * 8


def read_file(file: File, report: Report) -> Iterator[Document]:
    """Read the documents of a file, or of one inside another, by its format. Raises Unreadable or OSError."""
    format = format_of(file)
    if format is None:
        raise Unreadable(NOT_TEXT)
    documents: Iterator[Document] = format.loaded(format.read)(file, report)
    return documents


def read_text_file(file: File, report: Report) -> Iterator[Document]:
    """Read a file of plain text."""
    return read_text(file, read_plain)


ReadBlocks = Callable[[str, int], tuple[str, list[Block]]]


def read_code_file(file: File) -> Iterator[Document]:
    """Read a file of source code. Its title is its name."""
    for document in read_text(file, read_code):
        yield replace(document, title=f"{file.stem}{file.suffix}" if file.content is not None else file.path.name)


def read_text(
    file: File, read_blocks: ReadBlocks, date_in: Callable[[str], str] = lambda text: ""
) -> Iterator[Document]:
    """Read a text file by `read_blocks`, which gets a text and its first line and returns a title and blocks.

    A long file is read in parts. `date_in` finds the date in the first one.
    """
    title, date, line = "", "", 1
    with file.lines() as stream:
        for number, part in enumerate(_parts(stream)):
            named, blocks = read_blocks(part, line)
            title = title or named or title_of(blocks) or file.stem
            date = date if number else date_in(part)
            yield file.document(title, blocks, date, f"part={number}" if number else "")
            line += part.count("\n")


def _parts(stream: TextIO) -> Iterator[str]:
    """Split the text into parts of about `_PART` characters, between paragraphs, lines or words."""
    text = ""
    while chunk := stream.read(_PART):
        text += chunk
        if len(text) > _PART:
            ends = (text.rfind(mark, _PART // 2) for mark in ("\n\n", "\n", " ", "\t"))
            end = next((end for end in ends if end > 0), len(text))
            yield text[:end]
            text = text[end:]
    if text:
        yield text
