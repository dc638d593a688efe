"""Read the rows of csv and tsv files. A stray quote never drops rows silently."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count, pairwise, zip_longest
from typing import TextIO

from .blocks import Unreadable

_LONGEST_CELL = 1 << 24  # characters
_LONGEST_LINE = 1_000_000  # characters in a line of csv
_FIRST = 20  # lines that show how a table is written
_NUMBER = re.compile(r"[-+(]?[\d.,' ]*\d[\d.,' ]*\)?%?")
_YEAR = re.compile(r"(?:1[89]|20)\d\d")
_QUOTED = re.compile(r'"((?:[^"]++|"")*+)"')


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of a row, or the reason why it is `wrong`, with its first and last line number."""

    cells: list[str]
    first: int
    last: int
    wrong: str = ""

    @property
    def lines(self) -> str:
        """The line number, or "first-last"."""
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


def delimiter_of(text: str) -> str:
    """Return the mark between the cells of a table: the one that most of its first lines have."""
    lines = [_QUOTED.sub("", line) for line in text[:_LONGEST_LINE].splitlines()[:_FIRST]]
    return max(",;\t|", key=lambda mark: (sum(mark in line for line in lines), sum(line.count(mark) for line in lines)))


def joined(above: str, below: str) -> str:
    """Return the name of a column with two rows of names, each once: "North field" and "2024" are joined."""
    return above if below in (above, "") else f"{above} {below}".strip()


def spanning(above: Sequence[str], below: Sequence[str]) -> list[str] | None:
    """Return the names of the columns if `above` spans those in `below`, else None.

    It has no names of its own over some of them, and one of the two has none over the first column.
    """
    pairs = list(zip_longest((cell.strip() for cell in above), (cell.strip() for cell in below), fillvalue=""))
    under = [i for i, (one, other) in enumerate(pairs) if not one and other and i]
    if not under or all(pairs[0]) or not are_names([other for _, other in pairs]):
        return None
    names, last = [], ""
    for one, other in pairs:
        last = one or last
        names.append(joined(last if other else one, other))
    return names


def are_names(cells: Sequence[str]) -> bool:
    """Return whether the cells name columns: none is a number, except years."""
    return not any(_NUMBER.fullmatch(cell.strip()) and not _YEAR.fullmatch(cell.strip()) for cell in cells)


def read_csv(stream: TextIO, delimiter: str = ",") -> Iterator[Row]:
    """Return the rows of a csv file. A quoted cell may span lines. A row with unmatched quotes is wrong.

    Raises Unreadable if a line has more than 1,000,000 characters.
    """
    csv.field_size_limit(_LONGEST_CELL)  # the default is too short for articles
    line = ""

    def lines() -> Iterator[str]:
        nonlocal line
        for number in count(1):
            line = stream.readline(_LONGEST_LINE + 1)
            if not line:
                return
            if len(line) > _LONGEST_LINE:
                raise Unreadable(f"line {number} has more than {_LONGEST_LINE:,} characters")
            yield line

    rows = csv.reader(lines(), strict=True, delimiter=delimiter)
    while True:
        first = rows.line_num + 1
        try:
            cells = next(rows, None)
            if cells is None:
                return
            if cells:
                yield Row(cells, first, rows.line_num)
        except csv.Error as error:
            if rows.line_num > first:  # a stray quote may have swallowed other rows
                yield Row([], first, rows.line_num, f"a quote in its first line is not closed correctly: {error}")
            else:
                yield _lenient(line, first, delimiter)


def _lenient(line: str, number: int, delimiter: str) -> Row:
    """Return a row of one line. Text after a closing quote belongs to the cell."""
    try:
        return Row(next(csv.reader([line], delimiter=delimiter)), number, number)
    except csv.Error as error:
        return Row([], number, number, str(error))


def read_tsv(stream: TextIO) -> Iterator[Row]:
    """Return the rows of a tsv file, one per line. Quotes are text, unless they enclose a whole cell.

    A row is wrong if its last cell seems to continue on the next line.
    """
    csv.field_size_limit(_LONGEST_CELL)
    columns = 0
    lines = (line.rstrip("\r\n") for line in iter(lambda: stream.readline(_LONGEST_CELL), ""))
    for number, (line, following) in enumerate(pairwise(chain(lines, [""])), start=1):
        if _runs_on(line, following, columns):
            yield Row([], number, number, "its last cell continues on the next line; a tsv row must be one line")
        elif line:
            row = Row(_cells(line, columns), number, number)
            columns = columns or len(row.cells)
            yield row


def _runs_on(line: str, following: str, columns: int) -> bool:
    last = line.rpartition("\t")[2]
    if not last.startswith('"') or last.count('"') % 2 == 0 or not following:
        return False
    return following.count("\t") + 1 != columns or (following.endswith('"') and following.count('"') % 2 == 1)


def _cells(line: str, columns: int) -> list[str]:
    cells = line.split("\t")
    if columns and len(cells) != columns:  # a quoted cell may contain a tab
        try:
            return next(csv.reader([line], delimiter="\t", strict=True))
        except csv.Error:
            return cells
    return [found[1].replace('""', '"') if (found := _QUOTED.fullmatch(cell)) else cell for cell in cells]
