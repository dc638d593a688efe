"""Read tables and rows: csv, tsv, JSON Lines and workbooks.

A file with a column `text` (or `contents`) is a corpus: each row is a document of its own. In any other table a row
is a block of "column: value" pairs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from itertools import chain
from typing import TYPE_CHECKING

from robust_qa.kit import iso_date
from rqa_files import (
    Document,
    File,
    Report,
    Row,
    as_title,
    delimiter_of,
    read_csv,
    read_plain,
    read_table,
    read_tsv,
    report_hidden,
    rows_of,
    unlined,
)

from .structured import read_json

if TYPE_CHECKING:
    from openpyxl.cell import ReadOnlyCell

_LONGEST_ROW = 1 << 24  # characters in a line of JSON Lines

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
            yield from read_table(file, file.stem, chain([first], rows), report)


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


def is_workbook(file: File) -> bool:
    """Return whether a zip archive is an xlsx workbook, by what is in it. A damaged one is by its suffix."""
    names = file.members
    if not names:
        return file.suffix in (".xlsx", ".xlsm")
    return any(name.startswith("xl/") for name in names) and "xl/workbook.bin" not in names


def read_workbook(file: File, report: Report) -> Iterator[Document]:
    """Yield the sheets of an xlsx workbook, with the library openpyxl."""
    import openpyxl

    with file.open() as stream:
        book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
        several = len(book.worksheets) > 1
        hidden = [sheet.title for sheet in book.worksheets if sheet.sheet_state != "visible"]
        report_hidden(file, report, sheets=hidden)
        for sheet in book.worksheets:
            if sheet.title in hidden:
                continue
            folded: list[int] = []
            columns: list[int] = []
            rows = (
                Row([_shown(cell) for cell in cells], number, number, places=[cell.column for cell in cells])
                for number, cells in rows_of(sheet, folded, columns)
            )
            title = f"{file.stem} > {sheet.title}" if several else file.stem
            yield from read_table(file, title, rows, report, sheet.title)
            report_hidden(file, report, sheet.title, rows=folded, columns=sum(columns))


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
