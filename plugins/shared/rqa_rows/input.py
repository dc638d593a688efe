"""The rows of an input: JSON lines, a table, or one question a line. The first line and the file name decide.

A workbook and a JSON array become JSON lines first.
"""

from __future__ import annotations

import ast
import csv
import os
import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import date, datetime, time
from functools import lru_cache
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import msgspec

from robust_qa import InputError
from robust_qa.answering import BOM, portable
from rqa_files import rows_of

from .lines import Chunks, Splitter

# The first bytes of files that are not UTF-8 text: what they are, and how to convert them.
_SIGNATURES = {
    b"\x1f\x8b": ("compressed", "gzip -dc FILE"),
    b"\x28\xb5\x2f\xfd": ("compressed", "zstd -dc FILE"),
    b"\xfd7zXZ\0": ("compressed", "xz -dc FILE"),
    b"BZh": ("compressed", "bzip2 -dc FILE"),
    b"\xff\xfe": ("UTF-16 text", "iconv -f UTF-16 -t UTF-8 FILE"),
    b"\xfe\xff": ("UTF-16 text", "iconv -f UTF-16 -t UTF-8 FILE"),
}

_ARRAY = re.compile(rb"\[\s*\{")
EACH = "Write one object per line: jq -c '.[]' FILE"

_JSON_LINES = frozenset({".jsonl", ".ndjson", ".json"})
_TABLES = frozenset({".csv", ".tsv", ".tab"})
_QUESTION = ("question",)
_OTHER_NAMES = ("user_input", "query", "prompt", "input", "problem")  # of the question, in published formats
_READ = frozenset({"question", "id", "answers", "passages"})  # in a header, upper or lower case
PASSAGES = ("passages", "retrieved_contexts")  # the second in files of ragas
_DELIMITERS = "\t,;|"
_LONGEST_HEADER = 100_000  # bytes
_LONGEST_CELL = 1 << 24  # characters
_LONGEST_ROW = 1 << 24  # bytes
_STDIN = 0
_GAP = 10_000  # most empty rows that are counted between two of a sheet: a stray cell may be a million rows below
# Cells without spaces around the delimiters, and no question mark.
_LIKE_HEADER = re.compile(rb"[^\s,?]+(?:,[^\s,?]+)+|[^?]*\S[\t;|]\S[^?]*")
_CHOOSE = "Choose it with --column NAME."
# Matches whole strings, so that `portable` changes no text in them. Unclosed strings too: that keeps the time linear.


class Layout(msgspec.Struct, frozen=True, omit_defaults=True):
    """The layout of rows of JSON or of a table.

    `column`: the field with the question. "": each row of JSON has its own.
    `delimiter` and `names`: of a table.
    """

    column: str = ""
    delimiter: str = ""
    names: tuple[str, ...] = ()

    def row(self, text: bytes) -> bytes:
        """A row that contains its layout, so that any process can read it."""
        return msgspec.json.encode(self) + b"\n" + text


def split_row(row: bytes) -> tuple[Layout | None, bytes]:
    """The layout of a row and its text. A line by itself has no layout: it is JSON if it begins with { or [."""
    header, _, text = row.partition(b"\n")
    return (_layout(header), text) if text else (None, row)


def source_name(source: str) -> str:
    """The name of an input for messages."""
    return "standard input" if source == "-" else source


def described(row: bytes, kind: str = "JSON lines") -> str:
    """The layout of the input that begins with this row, for the user. `kind`: what the rows of JSON are."""
    layout, text = split_row(row)
    if layout is not None and layout.delimiter:
        return f"column `{layout.column}`"
    if layout is None and not bare(text).startswith((b"{", b"[")):
        return "one question a line"
    column = layout.column if layout is not None else ""
    with suppress(InputError, msgspec.DecodeError, RecursionError):
        column = question_column(msgspec.json.decode(bare(text), type=dict[str, msgspec.Raw]), column)
    return f"{kind}, column `{column}`" if column not in ("", *_QUESTION) else kind


def delimiter_of(row: bytes) -> str:
    """The delimiter of the CSV that the row is from, a comma for other rows."""
    layout, _ = split_row(row)
    return layout.delimiter if layout is not None and layout.delimiter in (";", "|") else ","


@lru_cache(64)
def _layout(header: bytes) -> Layout:
    return msgspec.json.decode(header, type=Layout)


def recognised(line: bytes, name: str = "The input", column: str = "") -> Layout | None:
    """The layout of the input `name` that begins with this line. None: one question a line.

    `column`: the column with the question, if the user chose it.
    Raises InputError if the layout or the column is ambiguous, or if the input must be converted first.
    """
    check_rows(line, name)
    suffix = Path(name).suffix.lower()
    if bare(line).startswith(b"{") or suffix in _JSON_LINES:
        return Layout(column)
    header = line.removeprefix(BOM).rstrip(b"\r\n")
    text = "" if len(header) > _LONGEST_HEADER else header.decode(errors="replace")
    headers = {mark: _column_names(text, mark) for mark in _DELIMITERS}
    is_table = bool(column or suffix in _TABLES)
    for mark, names in headers.items():
        if found := question_column(names, column):
            if not is_table and "?" in text:
                raise InputError(
                    f"The first line of {name} may be the header of a table or a question.",
                    hint=f"For a table, add --column {found}. For one question a line, put another question first.",
                )
            return Layout(found, mark, tuple(names))
    if is_table:
        shown = ", ".join(f"`{each}`" for each in max(headers.values(), key=len)[:8] if each) or "empty"
        what = f"no column `{column}`" if column else "no column that rqa knows as the question"
        raise InputError(
            f"{name} has {what}. Its columns are {shown}.",
            hint=f"{_CHOOSE} If it has no header but one question a line, use a file name that ends in .txt.",
        )
    if _LIKE_HEADER.fullmatch(header):
        raise InputError(
            f"The first line of {name} looks like the header of a table without a column `question`.",
            hint=f"{_CHOOSE} For one question a line, put another question first.",
        )
    return None


def check_rows(line: bytes, name: str = "The input") -> None:
    """Raises InputError if the first `line` of an input shows that it must be converted to rows first."""
    for signature, (what, command) in _SIGNATURES.items():
        if line.startswith(signature):
            raise InputError(f"{name} is {what}.", hint=f"Convert it to UTF-8 text: {command} > ROWS")
    line = bare(line)
    if line in (b"{", b"["):
        raise InputError(
            f"{name} is JSON over several lines, but a row must be one line.",
            hint="Write one object per line: jq -c . FILE, or jq -c '.[]' FILE for an array.",
        )
    if _ARRAY.match(line):
        raise InputError(f"{name} is a JSON array, but a row must be an object.", hint=EACH)


def question_column(names: Collection[str], chosen: str = "") -> str:
    """The name that holds the question, "" if there is none.

    `question` wins, then a name of a published format. Raises InputError if there are several.
    """
    exact = chosen or "question"
    if exact in names:
        return exact
    for known in ((chosen.lower(),),) if chosen else (_QUESTION, _OTHER_NAMES):
        found = [name for name in names if name.strip().lower() in known]
        if len(found) > 1:
            raise InputError(
                f"Several columns may hold the question: {', '.join(found)}.", hint="Choose one with --column NAME."
            )
        if found:
            return found[0]
    return ""


def _column_names(header: str, mark: str) -> list[str]:
    """The names in the header of a table, those that rqa reads in lower case."""
    with suppress(csv.Error):
        return [_field_name(name) for name in _cells(header, mark)]
    return []


def _field_name(name: str) -> str:
    """The name of a column, in lower case if rqa reads it."""
    name = name.strip()
    return name.lower() if name.lower() in _READ else name


def _cells(text: str, mark: str) -> list[str]:
    """The cells of a row of a table. Raises csv.Error if a quote is not closed."""
    csv.field_size_limit(_LONGEST_CELL)  # the default is too short for passages
    try:
        return next(csv.reader([text], delimiter=mark, strict=True), [])
    except csv.Error:
        if mark != "\t" or "\n" in text:
            raise
        return text.split("\t")  # many programs write tsv without quoting


def bare(line: bytes) -> bytes:
    """`line` without white space and byte order mark at its ends."""
    return line.strip().removeprefix(BOM).strip()


def table_fields(row: bytes) -> dict[str, Any]:
    """The fields of a row of a table, as `input_rows` returns it. An empty cell is no field.

    A JSON array or object in a cell is decoded. Other passages are the text of one passage.

    Raises InputError if the row has unmatched quotes or more cells than the header.
    """
    layout, content = split_row(row)
    assert layout is not None
    text = content.decode()
    try:
        found = _cells(text, layout.delimiter)
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
    return {name: _cell_value(name, cell) for name, cell in named if name and cell.strip()}


def _cell_value(name: str, cell: str) -> Any:
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
        self._begun = True
        self.layout = recognised(line, self._name, self._column)
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


class InputRows:
    """The rows of a file descriptor as they arrive, with their line numbers."""

    def __init__(self, descriptor: int, name: str = "The input", column: str = "") -> None:
        self._chunks = Chunks(descriptor)
        self._splitter = Splitter()
        self._assembler = Assembler(name, column)
        self._rows: deque[tuple[int, bytes]] = deque()
        self._ended = False

    async def peek(self) -> bytes | None:
        """Return the next row without consuming it, None at the end."""
        await self._fill()
        return self._rows[0][1] if self._rows else None

    async def next(self) -> tuple[int, bytes] | None:
        """Return the next row, None at the end or after `close`. Only one caller at a time."""
        await self._fill()
        return self._rows.popleft() if self._rows else None

    def close(self) -> None:
        """Stop. A waiting caller gets None."""
        self._chunks.close()
        self._rows.clear()
        self._ended = True

    async def _fill(self) -> None:
        """Read until there is a row or the input ends."""
        while not (self._rows or self._ended):
            chunk = await self._chunks.next()
            if self._ended:  # closed
                return
            self._ended = not chunk
            for line in self._splitter.add(chunk) if chunk else self._splitter.rest():
                self._keep(self._assembler.add(line))
            if self._ended:
                self._keep(self._assembler.rest())

    def _keep(self, row: bytes | None) -> None:
        if row is not None:
            self._rows.append((self._assembler.number, row))


@contextmanager
def open_input(source: str) -> Iterator[tuple[int, str]]:
    """The descriptor of an input file or of standard input, and what its rows of JSON are. Raises InputError."""
    if source == "-":
        yield _STDIN, "JSON lines"
        return
    try:
        file = Path(source).open("rb", buffering=0)  # noqa: SIM115  (closed below)
        kind, entries = _converted(Path(source)) if Path(source).is_file() else ("", ())
    except OSError as error:
        raise InputError(f"Cannot read {source}: {error.strerror}.") from error
    with file, TemporaryFile() as rows:
        at = 1
        for number, entry in entries:  # a row keeps its number in a sheet
            rows.write(b"\n" * min(number - at, _GAP) + msgspec.json.encode(entry) + b"\n")
            at = number + 1
        rows.flush()
        os.lseek(rows.fileno(), 0, os.SEEK_SET)
        yield (rows.fileno(), kind) if kind else (file.fileno(), "JSON lines")


def _converted(path: Path) -> tuple[str, Iterable[tuple[int, Mapping[str, Any]]]]:
    """What a workbook or a JSON array of objects is, and its numbered rows. "" for other files. Raises InputError."""
    suffix = path.suffix.lower()
    if suffix == ".xlsx":
        return "workbook", workbook_rows(path)
    if suffix not in _JSON_LINES:
        return "", ()
    with path.open("rb") as file:
        content = _decoded(file.readline(_LONGEST_ROW))
        if suffix == ".json" and not isinstance(content, dict):
            file.seek(0)
            content = _decoded(file.read())
    found = content if isinstance(content, list) and content else []
    if not found or not isinstance(found[0], dict):
        return "", ()
    for number, entry in enumerate(found, start=1):
        if not isinstance(entry, dict):
            raise InputError(f"Entry {number} of {path} is not an object.")
    return "JSON array", enumerate(found, start=1)


def _decoded(text: bytes) -> Any:
    """The JSON value, None if it is not JSON."""
    with suppress(msgspec.DecodeError, RecursionError):
        return msgspec.json.decode(portable(text.removeprefix(BOM)))
    return None


def workbook_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of the first sheet below its header, numbered. An empty cell is no field. Raises InputError."""
    import openpyxl

    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except Exception as error:  # openpyxl raises what its zip and XML libraries raise
        raise InputError(f"{path} is not a workbook that can be read: {error}.") from error
    rows = ((number, cells) for number, cells in rows_of(book.worksheets[0]) if cells)
    names = {cell.column: _field_name(str(cell.value)) for _, cells in islice(rows, 1) for cell in cells}
    for number, cells in rows:
        named = ((names.get(cell.column, ""), cell.value) for cell in cells)
        yield number, {name: _workbook_value(name, value) for name, value in named if name and value != ""}


def _workbook_value(name: str, cell: Any) -> Any:
    if isinstance(cell, datetime) and cell.time() == time():
        cell = cell.date()
    if isinstance(cell, date | time):
        return cell.isoformat()
    return _cell_value(name, cell) if isinstance(cell, str) else cell
