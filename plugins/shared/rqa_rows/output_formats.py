"""The formats of output rows: JSON lines, a JSON array, CSV, TSV or a workbook."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePath
from typing import BinaryIO

import click
import msgspec
from msgspec import Raw

from robust_qa import Answer, Citation, InputError, Position
from robust_qa.cli import ANSWER_FORMATS, suffix_of
from robust_qa.kit import printable

# The columns of a table that follow the row's own, in this order.
_LAST = """answer confidence guess quotes places sources abstained reason error row strategy seconds citations conflicts
best_guess closest withstands standing checks table_cell corrections usage details trace""".split()
_LONGEST_CELL = 32_767  # characters, in a workbook

_RUNS = ("=", "+", "-", "@", "\t", "\n", "＝", "＋", "－", "＠")  # as OWASP lists them
_SIGNED_NUMBER = re.compile(r"[+-]\d[\d.,]*(?:[eE][+-]?\d+)?%?")

_decode = msgspec.json.Decoder(dict[str, Raw]).decode


class _Answer(msgspec.Struct):
    """The fields of an answer that tables show as text."""

    citations: list[Citation]
    conflicts: list[Position]
    best_guess: Position | None


_decode_answer = msgspec.json.Decoder(_Answer).decode


def format_of(path: str | PurePath | None) -> str:
    """The format that the name of a file of rows asks for: JSON lines without an ending. Raises InputError."""
    suffix = suffix_of(path)
    if suffix and suffix not in ANSWER_FORMATS:
        raise InputError(
            f"Rows cannot be written as .{suffix}: {path}.",
            hint=f"End the name in {', '.join(f'.{each}' for each in ANSWER_FORMATS)}.",
        )
    return suffix or "jsonl"


def rendered(
    lines: Callable[[], Iterable[bytes]], form: str, delimiter: str = ",", *, raw: bool = False
) -> Iterator[str]:
    """The parts of a file in the format `form` with the rows of JSON lines. Calls `lines` twice for a table.

    A table has the row's own columns first. A nested field is JSON text. `delimiter`: of CSV. With `raw`, cells that a
    spreadsheet may run stay as they are. For a workbook, see `write_workbook`.
    """
    if form in ("csv", "tsv"):
        part = io.StringIO()
        writer = csv.writer(part, delimiter=delimiter if form == "csv" else "\t", lineterminator="\n")
        for cells in _table(lines):
            writer.writerow(printable(cell) if raw else _inert(printable(cell)) for cell in cells)
            yield part.getvalue()
            part.seek(0)
            part.truncate()
    elif form == "json":
        before = "[\n"
        for line in lines():
            yield before + line.decode().rstrip("\n")
            before = ",\n"
        yield "[]\n" if before == "[\n" else "\n]\n"
    else:
        for line in lines():
            yield line.decode()


def write_workbook(file: BinaryIO, lines: Callable[[], Iterable[bytes]]) -> None:
    """Write the rows of JSON lines as an xlsx workbook with the columns of CSV. Cuts long cells at Excel's limit."""
    import openpyxl
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("answers")
    for cells in _table(lines):
        row = []
        for text in cells:
            value = _number(text)
            cell = WriteOnlyCell(sheet, ILLEGAL_CHARACTERS_RE.sub("", text)[:_LONGEST_CELL] if value is None else value)
            if value is None:
                cell.data_type = "s"  # never a formula
            row.append(cell)
        sheet.append(row)
    book.save(file)


def _inert(cell: str) -> str:
    """Return a cell that no spreadsheet runs: an apostrophe comes before what may be a formula."""
    return f"'{cell}" if cell.startswith(_RUNS) and not _SIGNED_NUMBER.fullmatch(cell) else cell


def _number(text: str) -> float | None:
    """Return a number as JSON writes it, None for other text."""
    with suppress(msgspec.DecodeError):
        return msgspec.json.decode(text, type=float)
    return None


def _table(lines: Callable[[], Iterable[bytes]]) -> Iterator[list[str]]:
    """Yield the header and the rows of a table, none if there are no columns."""
    seen: dict[str, None] = {}
    for line in lines():
        seen.update(dict.fromkeys(_columns(line)))
    names = sorted(seen, key=lambda name: _LAST.index(name) if name in _LAST else -1)
    if names:
        yield names
    for line in lines():
        fields = _columns(line)
        yield [_cell(fields[name]) if name in fields else "" for name in names]


def _columns(line: bytes) -> dict[str, Raw]:
    """The fields of a row of a table: those of `input` have columns of their own, and what people read is text, too.

    Line n of `quotes` is from line n of `places`.
    """
    fields = _decode(line)
    names = list(fields)
    own = names[: names.index("row")] if "row" in fields else names
    if "question" in fields and "question" not in own and any(fields["question"] == fields[name] for name in own):
        del fields["question"]  # a copy of the column that holds it
    if bytes(fields.get("input", b"")).startswith(b"{"):
        fields.update({f"input.{name}": value for name, value in _decode(fields.pop("input")).items()})
    with suppress(KeyError, msgspec.DecodeError):  # a row that failed has no answer
        found = _decode_answer(line)
        guess = Answer("", conflicts=tuple(found.conflicts), best_guess=found.best_guess).probable
        documents = [each.source or each.title or each.id for each in found.citations]
        places = zip(documents, (each.place for each in found.citations), strict=True)
        texts = {
            "guess": guess.text if guess else "",
            "quotes": "\n".join(" ".join(each.quote.split()) for each in found.citations),
            "places": "\n".join(", ".join(filter(None, place)) for place in places),
            "sources": "; ".join(dict.fromkeys(filter(None, documents))),
        }
        for name, text in texts.items():
            if name in own:
                fields[f"input.{name}"] = fields.pop(name)
            fields[name] = Raw(msgspec.json.encode(text))
    return fields


def _cell(value: Raw) -> str:
    text = bytes(value).decode()
    if text.startswith('"'):
        return msgspec.json.decode(text, type=str)
    return "" if text == "null" else text


def print_rows(lines: Sequence[bytes], out: Path | None) -> None:
    """Print rows of JSON, without line ends, in the format that the name `out` asks for: JSON lines for stdout."""
    for part in rendered(lambda: (line + b"\n" for line in lines), format_of(out)):
        click.echo(part, nl=False)
