"""Read tables and rows: csv, tsv, JSON Lines and workbooks.

A file with a column `text` (or `contents`) is a corpus: each row is a document of its own. In any other table a row
is a block of "column: value" pairs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from itertools import chain, islice
from typing import TYPE_CHECKING

from ..kit.editions import iso_date
from .blocks import Blocks, as_title, unlined
from .document import Document, File, Report
from .plain import read_plain
from .structured import read_json
from .tables import Row, are_names, delimiter_of, read_csv, read_tsv, spanning

if TYPE_CHECKING:
    from openpyxl.cell import ReadOnlyCell

_LONGEST_ROW = 1 << 24  # characters in a line of JSON Lines
_TOGETHER = 1000  # rows of a table in a document
_CAPTION = 10  # rows that may stand above the header of a table

# Column names of DPR and of rqa, then those of BEIR and Pyserini.
_NAMES = {
    "text": ("text", "contents"),
    "title": ("title",),
    "id": ("id", "_id", "docid"),
    "source": ("url", "source"),
    "date": ("date",),
}
_SAMPLE = 100_000  # characters that show how a table is written
_SEPARATOR = re.compile("\\ufeff?sep=(.)\\r?\\n", re.I)  # a line of Excel
_UNIT = re.compile(r'"([^"]+)"|\[\$([^\]-]+)|([€£$¥])')  # in the format of a number


def read_jsonl(file: File, report: Report) -> Iterator[Document]:
    """Yield a document for each line of a JSON Lines file."""
    path = file.path
    with file.lines() as stream:
        for number, line in enumerate(iter(lambda: stream.readline(_LONGEST_ROW), ""), start=1):
            if line.isspace():
                continue
            try:
                value = json.loads(line)
                if isinstance(value, dict) and not any(name in value for name in _NAMES["text"]):
                    if not (blocks := read_json(value)):
                        raise ValueError("it has no text")
                    yield file.document(file.stem, blocks, part=f"line={number}", place=f"line {number}")
                elif isinstance(value, dict):
                    yield _passage(value, file, number)
                else:
                    raise ValueError("it is not a JSON object")
            except (json.JSONDecodeError, RecursionError) as error:
                report(f"{path}:{number}", f"it is not JSON: {error}")
            except ValueError as error:
                report(f"{path}:{number}", str(error))


def read_delimited(file: File, report: Report) -> Iterator[Document]:
    """Yield the documents of a csv or tsv file. Reports rows that are wrong."""
    with file.lines("") as stream:
        sample = stream.read(_SAMPLE)
        stated = _SEPARATOR.match(sample)
        mark = stated[1] if stated else "\t" if file.suffix == ".tsv" else delimiter_of(sample)
        stream.seek(0)
        rows = read_tsv(stream) if mark == "\t" else read_csv(stream, mark)
        if stated:
            next(rows)
        first = next(rows, None)
        header = [name.strip().lower() for name in first.cells] if first else []
        if set(header) & set(_NAMES["text"]):
            yield from _passages(file, header, rows, report)
        elif first:
            yield from _table(file, file.stem, chain([first], rows), report)


def _passages(file: File, header: Sequence[str], rows: Iterable[Row], report: Report) -> Iterator[Document]:
    for row in rows:
        try:
            if row.wrong:
                raise ValueError(row.wrong)
            if len(row.cells) != len(header):
                raise ValueError(f"it has {len(row.cells)} columns, but the first line has {len(header)}")
            yield _passage(dict(zip(header, row.cells, strict=True)), file, row.last)
        except ValueError as error:
            report(f"{file.path}:{row.lines}", str(error))


def _passage(fields: Mapping[str, object], file: File, line: int) -> Document:
    """Return a row of a corpus as a document. Raises ValueError if the row is invalid."""
    found: dict[str, str] = {}
    for field, names in _NAMES.items():
        value = next((fields[name] for name in names if fields.get(name) not in (None, "")), "")
        if not isinstance(value, str | int | float):
            raise ValueError(f"its {field} is not a string")
        found[field] = str(value)
    if not found["text"].strip():
        raise ValueError("it has no text")
    source, place = found["source"], ""
    if not source.startswith(("http://", "https://")):  # a row must not pretend to be another file
        source = f"{file.path}: {source}" if source else str(file.path)
        place = f"line {line}"
    blocks = tuple(unlined(read_plain(found["text"])[1]))
    id = found["id"] or f"{file.path}:{line}"
    return Document(as_title(found["title"]), blocks, id, source, iso_date(found["date"]), place)


def read_workbook(file: File, report: Report) -> Iterator[Document]:
    """Yield the sheets of an xlsx workbook, with the library openpyxl."""
    import openpyxl

    with file.open() as stream:
        book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
        several = len(book.worksheets) > 1
        hidden = [sheet.title for sheet in book.worksheets if sheet.sheet_state != "visible"]
        if hidden:
            report(str(file.path), f"read without its hidden sheets: {', '.join(hidden)}")
        for sheet in book.worksheets:
            if sheet.title in hidden:
                continue
            rows = (
                Row([_shown(cell) for cell in cells], number, number)
                for number, cells in enumerate(sheet.iter_rows(), start=1)
            )
            title = f"{file.stem} > {sheet.title}" if several else file.stem
            yield from _table(file, title, rows, report, sheet.title)


def _table(file: File, title: str, rows: Iterable[Row], report: Report, sheet: str = "") -> Iterator[Document]:
    """Yield the rows of a table, up to `_TOGETHER` in a document, and first the text above its header."""
    rows = (row for row in rows if row.wrong or any(cell.strip() for cell in row.cells))
    first = list(islice(rows, _CAPTION))
    start = _header(first)
    names = [" ".join(name.split()) for name in first[start].cells] if first and are_names(first[start].cells) else []
    below = spanning(names, first[start + 1].cells) if names and len(first) > start + 1 else None
    spanned = spanning(first[start - 1].cells, names) if names and start and not below else None
    names = below or spanned or names
    above = [(" ".join(filter(None, map(str.strip, row.cells))), row.first) for row in first[: start - bool(spanned)]]
    place = f"{sheet} row" if sheet else ""
    blocks = Blocks()
    for text, line in above:
        blocks.paragraph(text, line)
    for number, row in enumerate(chain(first[start + bool(names) + bool(below) :], rows), start=1):
        if row.wrong:
            report(f"{file.path}:{row.lines}", row.wrong)
        else:
            blocks.row(names, row.cells, row.first)
        if number % _TOGETHER == 0:
            yield file.document(title, blocks.found, part=f"{sheet}:{row.first}", place=place)
            blocks = Blocks()
    if names and not blocks.found:  # a table of names alone
        blocks.row((), names)
    if blocks.found:
        yield file.document(title, blocks.found, part=sheet, place=place)


def _header(rows: Sequence[Row]) -> int:
    """Return the index of the row that names the columns: the first as wide as most of those below."""
    widths = [sum(bool(cell.strip()) for cell in row.cells) for row in rows]
    most = max(widths[1:] or widths, default=0)
    return next((i for i, width in enumerate(widths) if width > most / 2), 0)


def _shown(cell: ReadOnlyCell) -> str:
    """Return the value of a cell as the workbook shows it: a date, a share, a number with its unit."""
    value, form = cell.value, str(getattr(cell, "number_format", "") or "")
    if value is None:
        return ""
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    if isinstance(value, date | time):
        return value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    number = f"{value * 100:.10g}%" if form.endswith("%") else f"{value:.15g}"
    unit = _UNIT.search(form.split(";", maxsplit=1)[0])
    return f"{number} {next(filter(None, unit.groups())).strip()}".rstrip() if unit else number
