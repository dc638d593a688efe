"""Rows of an input, assembled from its lines."""

from __future__ import annotations

import ast
import csv
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import msgspec

from ..documents.lines import Lines
from ..errors import InputError
from .layout import PASSAGES, Layout, bare, cells, recognised, separator, source_name, split_row

_LONGEST_ROW = 1 << 24  # bytes


def table_fields(row: bytes) -> dict[str, Any]:
    """The fields of a row of a table, as `input_rows` returns it. An empty cell is no field.

    A JSON array or object in a cell is decoded. Other passages are the text of one passage.

    Raises InputError if the row has unmatched quotes or more cells than the header.
    """
    layout, content = split_row(row)
    assert layout is not None
    text = content.decode()
    try:
        found = cells(text, layout.delimiter)
    except csv.Error as error:
        length = text.count("\n") + 1
        raise InputError(
            f"A quote in the row, which has {length:,} {'line' if length == 1 else 'lines'}, is not closed: {error}.",
            hint='Write a quote inside a quoted cell twice: "".',
        ) from error
    if len(found) > len(layout.names):
        raise InputError(
            f"The row has {len(found)} cells, but the header has {len(layout.names)}.",
            hint=f"Put a cell that contains {layout.delimiter!r} in double quotes.",
        )
    named = zip(layout.names, found, strict=False)  # cells at the end may be missing
    return {name: cell_value(name, cell) for name, cell in named if name and cell.strip()}


def cell_value(name: str, cell: str) -> Any:
    """The value of a cell with text: JSON, a list as Python prints it, or the text.

    Under a name of passages, other text is the text of one passage.
    """
    if cell.lstrip().startswith(("[", "{")):
        with suppress(msgspec.DecodeError, RecursionError):
            return msgspec.json.decode(cell)
        if name in PASSAGES:  # pandas and ragas write such lists
            with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
                return ast.literal_eval(cell)
    return [cell] if name in PASSAGES else cell


class Assembler:
    """Assembles the rows of the input `name` from its lines.

    The first line that is not blank decides the layout. A row of plain questions or JSON is a line. A row of a table,
    and a line of JSON that does not look like JSON, contains its layout.
    `number`: the line number where the last row begins, from 1.
    """

    def __init__(self, name: str = "The input", column: str = "") -> None:
        self.number = 0
        self.layout: Layout | None = None
        self._name = source_name(name)
        self._column = column
        self._begun = False  # a line that is not blank was read
        self._separator = ""  # of a table
        self._read = 0  # lines
        self._parts: list[bytes] = []  # of an incomplete row
        self._length = 0  # of those parts

    def add(self, line: bytes) -> bytes | None:
        """The row that ends with this line. None after a header, or if a quoted cell continues on the next line.

        Raises InputError if the first line is ambiguous.
        """
        self._read += 1
        line = line.rstrip(b"\r\n")
        if not self._parts:
            self.number = self._read
        if not self._begun and (not bare(line) or self._is_header(line)):
            return None
        if self.layout is None or not bare(line):
            if not self._parts:
                return line
        elif not self.layout.delimiter:
            looks_right = not self._column and bare(line).startswith((b"{", b"["))
            return line if looks_right else self.layout.row(line)
        with_state = b'"' + line if self._parts else line
        self._parts.append(line)
        self._length += len(line)
        is_open = self._quote.search(self._quoted.sub(b"", with_state))
        return None if is_open and self._length <= _LONGEST_ROW else self.rest()

    @property
    def is_table(self) -> bool | None:
        """Whether the input is a table, None as long as it is unknown."""
        return (self.layout is not None and bool(self.layout.delimiter)) if self._begun else None

    def _is_header(self, line: bytes) -> bool:
        if not self._separator and (mark := separator(line)):
            self._separator = mark
            return True
        self._begun = True
        self.layout = recognised(line, self._name, self._column, self._separator)
        if not self.is_table or self.layout is None:
            return False
        self._mark = self.layout.delimiter.encode()
        mark_pattern = re.escape(self._mark)
        self._quoted = re.compile(rb'(?:^|(?<=%b))"(?:[^"]++|"")*+"' % mark_pattern)
        self._quote = re.compile(rb'(?:^|%b)"' % mark_pattern)
        return True

    def rest(self) -> bytes | None:
        """The incomplete row at the end of the input, None without one. A row of empty cells is blank."""
        if not self._parts:
            return None
        row = b"\n".join(self._parts)
        self._parts.clear()
        self._length = 0
        assert self.layout is not None
        return self.layout.row(row) if row.strip(self._mark + b" \t\n") else b""


def is_table(lines: Iterable[bytes], name: str = "The input") -> bool:
    """Whether the input `name` begins with the header of a table. Raises InputError if that is ambiguous."""
    assembler = Assembler(name)
    for line in lines:
        assembler.add(line)
        if assembler.is_table is not None:
            break
    return bool(assembler.is_table)


def input_rows(lines: Iterable[bytes], name: str = "The input", column: str = "") -> Iterator[tuple[int, bytes]]:
    """The rows of the input `name` with their line numbers, from 1.

    `column`: the field with the question, "" to recognise it. Raises InputError if that is ambiguous.
    """
    assembler = Assembler(name, column)
    for line in lines:
        if (row := assembler.add(line)) is not None:
            yield assembler.number, row
    if (row := assembler.rest()) is not None:
        yield assembler.number, row


class InputRows(Lines):
    """The rows of a file descriptor: lines, or the rows of a table."""

    def __init__(self, descriptor: int, name: str = "The input", column: str = "") -> None:
        super().__init__(descriptor)
        self._assembler = Assembler(name, column)
        self._row: bytes | None = None  # the next one

    @property
    def is_table(self) -> bool:
        """Whether the rows that were read are those of a table."""
        return bool(self._assembler.is_table)

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
