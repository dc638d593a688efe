"""Read the tables of a sheet, and the cells of an xlsx workbook."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import dropwhile, islice
from typing import TYPE_CHECKING

from .blocks import Blocks
from .document import Document, File, Report
from .tables import Row, are_names, spanning

if TYPE_CHECKING:
    from openpyxl.cell import ReadOnlyCell
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet


_TOGETHER = 1000  # rows of a table in a document
_CAPTION = 10  # rows that may stand above the header of a table
_BELOW = 3  # rows that show whether a row names the columns of another table
_SUMMED = 3  # rows that a row of one number may be the sum of by chance, if they are fewer
_AMOUNT = re.compile(r"[^\w\s.,-]{0,3} ?(-?\d[\d,]*(?:\.\d+)?) ?[^\d\s]{0,10}")
_WIDEST = 200  # columns; a wider table is read without its empty ones
_MERGED = re.compile(rb'<mergeCell [^>]*?ref="([A-Z]+)(\d+):([A-Z]+)(\d+)"')


def rows_of(
    sheet: ReadOnlyWorksheet, hidden: list[int] | None = None, columns: list[int] | None = None
) -> Iterator[tuple[int, list[ReadOnlyCell]]]:
    """Yield the number of each row that the sheet has, and the cells with a value.

    A merged cell is in each of its rows. The numbers of hidden rows are added to `hidden`, how many columns each group
    of hidden ones has to `columns`.
    `iter_rows` of openpyxl fills the rectangle up to the farthest cell instead.
    """
    from openpyxl.cell import ReadOnlyCell
    from openpyxl.worksheet._reader import WorkSheetParser

    book = sheet.parent
    last_rows = _merged(book._archive.read(sheet._worksheet_path))
    open_cells: dict[int, tuple[int, ReadOnlyCell]] = {}  # merged ones by column, with their last rows
    with book._archive.open(sheet._worksheet_path) as source:
        parser = WorkSheetParser(
            source,
            sheet._shared_strings,
            data_only=True,
            epoch=book.epoch,
            date_formats=book._date_formats,
            timedelta_formats=book._timedelta_formats,
        )
        for number, cells in parser.parse():
            if hidden is not None and parser.row_dimensions.pop(str(number), {}).get("hidden") in ("1", "true"):
                hidden.append(number)
            found = {cell["column"]: ReadOnlyCell(sheet, **cell) for cell in cells if cell["value"] is not None}
            for column, (last, cell) in open_cells.items():
                if number <= last:
                    found.setdefault(column, cell)
            open_cells.update(
                (column, (last_rows[number, column], cell))
                for column, cell in found.items()
                if (number, column) in last_rows
            )
            yield number, [found[column] for column in sorted(found)]
        if columns is not None:
            wide = [each for each in parser.column_dimensions.values() if each.get("hidden") in ("1", "true")]
            columns += [int(each["max"]) - int(each["min"]) + 1 for each in wide]


def _merged(content: bytes) -> dict[tuple[int, int], int]:
    """Return the last row of each cell that is merged with those below it, by its row and column."""
    from openpyxl.utils import column_index_from_string

    found = {}
    for column, first, _, last in _MERGED.findall(content):
        if first != last:
            found[int(first), column_index_from_string(column.decode())] = int(last)
    return found


def read_table(
    file: File, title: str, rows: Iterable[Row], report: Report, sheet: str = "", *, numbered: bool = True
) -> Iterator[Document]:
    """Yield the rows of the tables of a sheet, up to `_TOGETHER` in a document, and the text above their headers.

    A table may begin after blank rows. Without `numbered`, the numbers of the rows are not those of the sheet.
    """
    place = f"{sheet} row" if sheet and numbered else sheet
    left = (row for row in rows if row.wrong or any(cell.strip() for cell in row.cells))
    ahead = deque(islice(left, _CAPTION))
    blocks, table, last, number = Blocks(), _Table(), -1, 0
    while ahead:
        if last < 0 or (ahead[0].first > last + 1 and table.is_followed(list(ahead))):
            table = _Table()
            for text, line in table.begin(ahead):
                blocks.paragraph(text, line)
            ahead.extend(islice(left, _CAPTION - len(ahead)))
            last = ahead[0].first if ahead else 0
            continue
        row = ahead.popleft()
        ahead.extend(islice(left, 1))
        last = row.last
        number += 1
        if row.wrong:
            report(f"{file.path}:{row.lines}", row.wrong)
        else:
            blocks.row(table.names_of(row), row.cells, row.first)
        if number % _TOGETHER == 0:
            yield file.document(title, blocks.found, part=f"{sheet}:{row.first}", place=place)
            blocks = Blocks()
    if not number and table.named:  # a table of names alone
        blocks.row((), [*table.named.values()])
    if blocks.found:
        yield file.document(title, blocks.found, part=sheet, place=place)


@dataclass
class _Table:
    """A table: the names of its columns, and the sums of their numbers since the last total and in all."""

    named: dict[int, str] = field(default_factory=dict)
    sums: dict[int, float] = field(default_factory=dict)
    totals: dict[int, float] = field(default_factory=dict)
    rows: int = 0  # since the last total

    def begin(self, ahead: deque[Row]) -> list[tuple[str, int]]:
        """Take the header and the rows above it out of `ahead`. Return the text above, with its lines."""
        columns: Sequence[int] = sorted({column for row in ahead for column in row.columns})
        if columns and columns[-1] - columns[0] < _WIDEST:
            columns = range(columns[0], columns[-1] + 1)
        first = [row.aligned(columns) for row in ahead]
        start = _header(first)
        names = [" ".join(name.split()) for name in first[start].cells]
        names = names if are_names(names) else []
        below = spanning(names, first[start + 1].cells) if names and len(first) > start + 1 else None
        spanned = spanning(first[start - 1].cells, names) if names and start and not below else None
        self.named = {n: name for n, name in zip(columns, below or spanned or names, strict=False) if name}
        above = first[: start - bool(spanned)]
        for _ in range(start + bool(names) + bool(below)):
            ahead.popleft()
        return [(" ".join(filter(None, map(str.strip, row.cells))), row.first) for row in above]

    def is_followed(self, ahead: Sequence[Row]) -> bool:
        """Return whether the rows after a blank one are another table: its first names columns, those below count."""
        rows = [[(n, cell) for n, cell in zip(row.columns, row.cells, strict=False) if cell.strip()] for row in ahead]
        rows = [*dropwhile(lambda row: len(row) == 1, rows)]
        if not self.named or not rows:
            return False
        head = [cell for _, cell in rows[0]]
        if not are_names(head):
            return False
        again = {" ".join(cell.split()) for cell in head} == {*self.named.values()}
        below = [cell for row in rows[1 : 1 + _BELOW] for _, cell in row]
        return again or bool((self.sums or self.totals) and below and not are_names(below))

    def names_of(self, row: Row) -> list[str]:
        """Return the names of the columns for the cells of a row.

        What is alone in a row has none, and neither has the first text of a row that is the sum of those above.
        """
        filled = [n for n, cell in enumerate(row.cells) if cell.strip()]
        if not self.named or (len(filled) == 1 < len(self.named)):
            return []
        names = [self.named.get(column, "") for column in row.columns]
        if self._is_total(row) and are_names([row.cells[filled[0]]]):
            names[filled[0]] = ""
        return names

    def _is_total(self, row: Row) -> bool:
        found = {
            column: float(amount[1].replace(",", ""))
            for column, cell in zip(row.columns, row.cells, strict=False)
            if (amount := _AMOUNT.fullmatch(cell.strip()))
        }
        enough = self.rows >= _SUMMED or (self.rows > 1 and len(found) > 1)
        for sums in (self.sums, self.totals):
            if enough and any(found.values()) and all(_same(sums.get(n, 0.0), amount) for n, amount in found.items()):
                self.sums, self.rows = {}, 0
                return True
        for sums in (self.sums, self.totals):
            sums.update((n, sums.get(n, 0.0) + amount) for n, amount in found.items())
        self.rows += 1
        return False


def _same(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-6 * abs(one) + 0.005


def _header(rows: Sequence[Row]) -> int:
    """Return the index of the row that names the columns: the first as wide as most of those below."""
    widths = [sum(bool(cell.strip()) for cell in row.cells) for row in rows]
    most = max(widths[1:] or widths, default=0)
    return next((i for i, width in enumerate(widths) if width > most / 2), 0)
