"""Read files of all formats as documents with title, blocks, id and source.

A row of a table, a page, a slide and a message of a mailbox are documents of their own. Any other file is one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from ..file_formats import FileFormat
from . import html, markdown
from .blocks import Block, Unreadable, title_of
from .detection import NOT_TEXT, format_of
from .document import LIMIT, Document, File, Report, report_left_out
from .html import read_html
from .markdown import read_markdown
from .plain import read_code, read_plain
from .rows import read_delimited, read_jsonl, read_workbook
from .structured import read_json, read_notebook

_PART = 1 << 20  # characters per document; a longer text file is split
_LIGHT = ("plain", "markdown", "code", "jsonl", "table")  # formats that cost little to read


def read(path: Path, report: Report, limit: int = LIMIT, encoding: str = "") -> Iterator[Document]:
    """Read the documents of the file at `path` in this process. Raises Unreadable or OSError.

    A file is unreadable if it has more than `limit` bytes when decompressed, or more than `limit` characters of text.
    `encoding` is that of text files, "" to detect it.
    """
    size = 0
    for document in read_file(File(path, limit, encoding), report):
        size += sum(len(block.text) for block in document.blocks)
        if size > limit:
            raise Unreadable(f"it has more than {limit / 1e6:,.0f} million characters of text")
        yield document


def risk(path: Path) -> float:
    """Return the size of a file in bytes, eight times that for markup, infinity for all but simple text."""
    file = File(path, LIMIT)
    try:
        format, size = format_of(file), path.stat().st_size
    except (OSError, Unreadable):
        return math.inf
    if file.is_compressed or format not in (*_LIGHT, "html"):
        return math.inf
    return size if format in _LIGHT else size * 8


def read_file(file: File, report: Report) -> Iterator[Document]:
    """Read the documents of a file, or of one inside another, by its format. Raises Unreadable or OSError."""
    format = format_of(file)
    if isinstance(format, FileFormat):
        documents: Iterator[Document] = format.loaded(format.reader)(file, report)
        return documents
    if not format:
        raise Unreadable(NOT_TEXT)
    if format == "encrypted":
        raise Unreadable("it is protected by a password; save a copy without one to read it")
    if format in _READERS:
        return _READERS[format](file, report)
    from .office import read_office  # here, as for PDF, because it takes time to import

    return read_office(file, format, report)


# -- text

ReadBlocks = Callable[[str, int], tuple[str, list[Block]]]


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


def _code(file: File, report: Report) -> Iterator[Document]:
    for document in read_text(file, read_code):
        yield replace(document, title=f"{file.stem}{file.suffix}" if file.content is not None else file.path.name)


def _html(file: File, report: Report) -> Iterator[Document]:
    page, left_out = file.text(page=True), list[str]()
    title, blocks = read_html(page, left_out=left_out)
    yield file.document(title, blocks, html.date_in(page))
    report_left_out(file, left_out, report)


def _markdown(file: File, report: Report) -> Iterator[Document]:
    left_out: list[str] = []
    yield from read_text(file, lambda text, line: read_markdown(text, line, left_out), markdown.date_in)
    report_left_out(file, left_out, report)


def _json(file: File, report: Report) -> Iterator[Document]:
    with suppress(json.JSONDecodeError, RecursionError):
        yield file.document("", read_json(json.loads(file.text())))
        return
    yield from _code(file, report)


def _pdf(file: File, report: Report) -> Iterator[Document]:
    from .pdf import read_pdf

    return read_pdf(file, report)


_READERS: dict[str, Callable[[File, Report], Iterator[Document]]] = {
    "plain": lambda file, _: read_text(file, read_plain),
    "markdown": _markdown,
    "html": _html,
    "code": _code,
    "json": _json,
    "jsonl": read_jsonl,
    "table": read_delimited,
    "workbook": read_workbook,
    "notebook": read_notebook,
    "pdf": _pdf,
}
