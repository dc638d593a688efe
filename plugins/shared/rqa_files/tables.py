"""Read the rows of csv and tsv files. A stray quote never drops rows silently."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count, pairwise, zip_longest
from typing import TextIO

from .blocks import Unreadable

_LONGEST_CELL = 1 << 24  # characters
_LONGEST_LINE = 1_000_000  # characters in a line of csv
_FIRST = 20  # lines that show how a table is written
_NUMBER = re.compile(r"[-+(]?[.,' ]*+\d[\d.,' ]*+\)?%?")
_YEAR = re.compile(r"(?:1[89]|20)\d\d")
_QUOTED = re.compile(r'"((?:[^"]++|"")*+)"')


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of a row, or the reason why it is `wrong`, with its first and last line number.

    `places` has the column of each cell, in a row that leaves out empty ones.
    """

    cells: list[str]
    first: int
    last: int
    wrong: str = ""
    places: Sequence[int] | None = None

    @property
    def columns(self) -> Sequence[int]:
        """The column of each cell."""
        return range(len(self.cells)) if self.places is None else self.places

    def aligned(self, columns: Sequence[int]) -> Row:
        """Return the row with a cell for each of these columns."""
        found = dict(zip(self.columns, self.cells, strict=True))
        return replace(self, cells=[found.get(column, "") for column in columns], places=columns)

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

    It has no names of its own over some of them, and one of the two has none over the first column, or the same.
    """
    pairs = list(zip_longest((cell.strip() for cell in above), (cell.strip() for cell in below), fillvalue=""))
    under = [i for i, (one, other) in enumerate(pairs) if not one and other and i]
    if not under or len({*pairs[0], ""}) > 2 or not are_names([other for _, other in pairs]):
        return None
    names, last = [], ""
    for one, other in _over_their_columns(pairs):
        last = one or last
        names.append(joined(last if other else one, other))
    return names


def _over_their_columns(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the pairs of a name above and one below, with each name above over the first of its columns.

    In financial reports it stands over their middle or their last.
    """
    tops, below = [one for one, _ in pairs], [other for _, other in pairs]
    named = [i for i, one in enumerate(tops) if one and i]
    starts = [max((n + 1 for n in range(i) if not below[n]), default=0) for i in named]
    if len(named) == 1 and not (below[named[0]] and any(below[named[0] + 1 :])):  # over all columns
        starts = [1]
    elif any(start == i or any(below[i + 1 : i + 2]) for start, i in zip(starts, named, strict=True)):
        starts = named
    for start, i in zip(starts, named, strict=True):
        tops[start], tops[i] = tops[i], tops[i] if start == i else ""
    if pairs[0][0] and not below[0] and named:  # the name of the first column spans no others
        tops[0], below[0] = "", tops[0]
    return list(zip(tops, below, strict=True))


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
