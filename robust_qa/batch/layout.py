"""The layout of an input: JSON lines, a table, or one question a line. The first line and the file name decide."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import msgspec

from ..errors import InputError

BOM = b"\xef\xbb\xbf"
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
READ = frozenset({"question", "id", "answers", "passages"})  # in a header, upper or lower case
PASSAGES = ("passages", "retrieved_contexts")  # the second in files of ragas
_DELIMITERS = "\t,;|"
_SEPARATOR = re.compile(rb'"?sep=([\t,;|])"?', re.IGNORECASE)  # the first line that Excel reads and writes
_LONGEST_HEADER = 100_000  # bytes
_LONGEST_CELL = 1 << 24  # characters
# Cells without spaces around the delimiters, and no question mark.
_LIKE_HEADER = re.compile(rb"[^\s,?]+(?:,[^\s,?]+)+|[^?]*\S[\t;|]\S[^?]*")
_CHOOSE = "Choose it with --column NAME."


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


def recognised(line: bytes, name: str = "The input", column: str = "", delimiter: str = "") -> Layout | None:
    """The layout of the input `name` that begins with this line. None: one question a line.

    `column`: the column with the question, if the user chose it. `delimiter`: that of a table, if the file states it.
    Raises InputError if the layout or the column is ambiguous, or if the input must be converted first.
    """
    check_rows(line, name)
    suffix = Path(name).suffix.lower()
    if bare(line).startswith(b"{") or suffix in _JSON_LINES:
        return Layout(column)
    header = line.removeprefix(BOM).rstrip(b"\r\n")
    text = "" if len(header) > _LONGEST_HEADER else header.decode(errors="replace")
    headers = {mark: column_names(text, mark) for mark in delimiter or _DELIMITERS}
    is_table = bool(delimiter or column or suffix in _TABLES)
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


def separator(line: bytes) -> str:
    """The delimiter in a line such as `sep=;`, "" for other lines."""
    match = _SEPARATOR.fullmatch(line.removeprefix(BOM).strip(b"\r\n "))
    return match[1].decode() if match else ""


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


def column_names(header: str, mark: str) -> list[str]:
    """The names in the header of a table, those that rqa reads in lower case."""
    with suppress(csv.Error):
        names = [name.strip() for name in cells(header, mark)]
        return [name.lower() if name.lower() in READ else name for name in names]
    return []


def cells(text: str, mark: str) -> list[str]:
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
