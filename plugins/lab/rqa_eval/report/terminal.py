"""Terminal output of tables. Columns that do not fit the width continue in a block below."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from robust_qa.cli import console
from robust_qa.kit import printable, single_line

from .tables import Cell, Table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

_MAX_KEY = 24  # width of a key column


def terminal_text(tables: Iterable[Table], out: Path | None = None) -> Iterator[str]:
    """Yield the tables as text, for stdout or the file `out`. Uses bold and dim text but no colours."""
    from rich.console import Console
    from rich.text import Text

    screen = console()
    styled = out is None and screen.is_terminal and not screen.no_color
    sheet = Console(
        file=io.StringIO(), width=screen.width, force_terminal=styled, highlight=False, markup=False, emoji=False
    )
    for table in tables:
        with sheet.capture() as written:
            if table.lead:
                sheet.print(Text(single_line(table.lead)), end="\n\n")
            sheet.print(Text(printable(table.title), style="bold"))
            for block in _blocks(table, sheet):
                sheet.print(block)
            for note in table.notes:
                sheet.print(Text(single_line(note), style="dim"))
            sheet.print()
        yield "".join(f"{line.rstrip()}\n" for line in written.get().splitlines())


def _blocks(table: Table, console: Console) -> Iterator[RichTable]:
    from rich.table import Table as RichTable
    from rich.text import Text

    def key(text: str) -> Text:
        return Text(single_line(text), overflow="fold")

    for first, last in _column_ranges(table, console.width):
        block = RichTable(box=None, pad_edge=False, padding=(0, 1, 0, 0))
        for head in table.heads:
            block.add_column(key(head), max_width=_MAX_KEY, overflow="fold", vertical="top")
        for column in table.columns[first:last]:
            block.add_column(Text(_wrapped(column.name)), justify="right", vertical="top", overflow="fold")
        for keys, cells in table.rows:
            block.add_row(*map(key, keys), *map(_text, cells[first:last]))
        yield block


def _column_ranges(table: Table, width: int) -> Iterator[tuple[int, int]]:
    """Yield the column range of each block (start, end)."""
    keys = [max([len(head), *(len(row[n]) for row, _ in table.rows)]) for n, head in enumerate(table.heads)]
    room = width - sum(min(key, _MAX_KEY) + 1 for key in keys)
    first = used = 0
    for n, column in enumerate(table.columns):
        texts = [cell.text + cell.mark for _, cells in table.rows for cell in cells[n : n + 1]]
        needed = 1 + max(
            max((len(part) for part in _wrapped(column.name).split("\n")), default=0),
            max((len(text) for text in texts), default=0),
            max((len(cells[n].interval) for _, cells in table.rows), default=0),
        )
        if used and used + needed > room:
            yield first, n
            first, used = n, 0
        used += needed
    if first < len(table.columns):
        yield first, len(table.columns)


def _wrapped(name: str) -> str:
    """Return the name of a column in short lines."""
    return single_line(name).replace("-", "-\n").replace("_", "_\n").replace(" ", "\n")


def _text(cell: Cell) -> Text:
    from rich.text import Text

    text = Text(cell.text + cell.mark, style="bold" if cell.best else "")
    if cell.interval:
        text.append(f"\n{cell.interval}", style="not bold dim")
    return text
