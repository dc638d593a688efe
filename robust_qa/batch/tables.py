"""Rows of a table: CSV or TSV with a header that has a cell `question`."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import msgspec

from ..documents.lines import Lines
from ..errors import InputError

_BOM = b"\xef\xbb\xbf"
_DELIMITERS = "\t,;"
_LONGEST_HEADER = 10_000  # bytes
_LONGEST_ROW = 1 << 24  # bytes
_READ = frozenset({"question", "id", "answers", "passages"})  # in the header, upper or lower case


def table_delimiter(line: bytes) -> str:
    """The delimiter of the table that begins with this header, "" if the line is no header."""
    if len(line) > _LONGEST_HEADER or b"?" in line:
        return ""
    header = line.removeprefix(_BOM).decode(errors="replace")
    return next((mark for mark in _DELIMITERS if "question" in _names(header, mark)), "")


def table_fields(row: bytes) -> dict[str, Any]:
    """The fields of a row of a table, with its header above it. An empty cell is no field.

    A JSON array or object in a cell is decoded. Other passages are the text of one passage.

    Raises InputError if the row has unmatched quotes or more cells than the header.
    """
    header, _, text = row.decode().partition("\n")
    mark = table_delimiter(header.encode())
    names = _names(header, mark)
    try:
        cells = _cells(text, mark)
    except csv.Error as error:
        length = text.count("\n") + 1
        raise InputError(
            f"A quote in the row, which has {length:,} {'line' if length == 1 else 'lines'}, is not closed: {error}.",
            hint='Write a quote inside a quoted cell twice: "".',
        ) from error
    if len(cells) > len(names):
        raise InputError(
            f"The row has {len(cells)} cells, but the header has {len(names)}.",
            hint=f"Put a cell that contains {mark!r} in double quotes.",
        )
    named = zip(names, cells, strict=False)  # cells at the end may be missing
    return {name: _value(name, cell) for name, cell in named if name and cell.strip()}


def _names(header: str, mark: str) -> list[str]:
    with suppress(csv.Error):
        names = [name.strip() for name in _cells(header.rstrip("\r\n"), mark)]
        return [name.lower() if name.lower() in _READ else name for name in names]
    return []


def _cells(text: str, mark: str) -> list[str]:
    csv.field_size_limit(_LONGEST_ROW)  # the default is too short for passages
    try:
        return next(csv.reader([text], delimiter=mark, strict=True), [])
    except csv.Error:
        if mark != "\t" or "\n" in text:
            raise
        return text.split("\t")  # many programs write tsv without quoting


def _value(name: str, cell: str) -> Any:
    if cell.lstrip().startswith(("[", "{")):
        with suppress(msgspec.DecodeError, RecursionError):
            return msgspec.json.decode(cell)
    return [cell] if name == "passages" else cell


class Assembler:
    """Assembles the rows of an input from its lines.

    A line is a row. In a table, a row is the header, a line break and the lines of the row.
    `number`: the line number where the last row begins, from 1.
    """

    def __init__(self) -> None:
        self.number = 0
        self.header = b""  # of a table
        self._read = 0  # lines
        self._parts: list[bytes] = []  # of an incomplete row
        self._length = 0  # of those parts

    def add(self, line: bytes) -> bytes | None:
        """The row that ends with this line. None after a header, or if a quoted cell continues on the next line."""
        self._read += 1
        if self._read == 1 and (mark := table_delimiter(line)):
            self.header = line.removeprefix(_BOM).rstrip(b"\r\n")
            self._mark = mark.encode()
            self._quoted = re.compile(rb'(?:^|(?<=%b))"(?:[^"]++|"")*+"' % self._mark)
            self._quote = re.compile(rb'(?:^|%b)"' % self._mark)
            return None
        if not self._parts:
            self.number = self._read
        if not self.header:
            return line
        line = line.rstrip(b"\r\n")
        with_state = b'"' + line if self._parts else line
        self._parts.append(line)
        self._length += len(line)
        is_open = self._quote.search(self._quoted.sub(b"", with_state))
        return None if is_open and self._length <= _LONGEST_ROW else self.rest()

    def rest(self) -> bytes | None:
        """The incomplete row at the end of the input, None without one. A row of empty cells is blank."""
        if not self._parts:
            return None
        row = b"\n".join(self._parts)
        self._parts.clear()
        self._length = 0
        return self.header + b"\n" + row if row.strip(self._mark + b" \t\n") else b""


def input_rows(lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """The rows of an input with their line numbers, from 1: its lines, or the rows of its table for `table_fields`."""
    assembler = Assembler()
    for line in lines:
        if (row := assembler.add(line)) is not None:
            yield assembler.number, row
    if (row := assembler.rest()) is not None:
        yield assembler.number, row


class InputRows(Lines):
    """The rows of a file descriptor: lines, or the rows of a table."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor)
        self._assembler = Assembler()
        self._row: bytes | None = None  # the next one

    @property
    def is_table(self) -> bool:
        """Whether the rows that were read are those of a table."""
        return bool(self._assembler.header)

    async def peek(self) -> bytes | None:
        """Return the next row without consuming it, None at the end."""
        while self._row is None and (line := await super().next()) is not None:
            self._row = self._assembler.add(line)
        if self._row is None:
            self._row = self._assembler.rest()
        return self._row

    async def next(self) -> bytes | None:
        """Return the next row, None at the end or after `close`. Only one caller at a time."""
        row, self._row = await self.peek(), None
        self.number = self._assembler.number
        return row

    def close(self) -> None:
        """Stop. A waiting caller gets None."""
        super().close()
        self._assembler, self._row = Assembler(), None
