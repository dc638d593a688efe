"""Tables on a terminal: what does not fit beside each other stands below each other, and nothing is left out."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from robust_qa.cli import console
from robust_qa.kit import flat, printable

from .tables import Cell, Table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

_WIDEST_KEY = 24  # columns of the terminal, for each name that a row goes by
_PIPED = 100  # columns, where nobody says how wide it is


def terminal_text(tables: Iterable[Table], out: Path | None = None) -> Iterator[str]:
    """The tables as text, for standard output or the file `out`.

    What stands out does so by weight and not by colour, which a theme could hide.
    """
    from rich.console import Console
    from rich.text import Text

    screen = console()
    styled = out is None and screen.is_terminal and not screen.no_color
    width = screen.width if out is None or "COLUMNS" in os.environ else _PIPED
    sheet = Console(file=io.StringIO(), width=width, force_terminal=styled, highlight=False, markup=False, emoji=False)
    for table in tables:
        with sheet.capture() as written:
            sheet.print(Text(printable(table.title), style="bold"))
            for block in _blocks(table, sheet):
                sheet.print(block)
            for note in table.notes:
                sheet.print(Text(flat(note), style="dim"))
            sheet.print()
        yield "".join(f"{line.rstrip()}\n" for line in written.get().splitlines())


def _blocks(table: Table, console: Console) -> Iterator[RichTable]:
    from rich.table import Table as RichTable
    from rich.text import Text

    def key(text: str) -> Text:
        return Text(flat(text), overflow="fold")

    for first, last in _cuts(table, console.width):
        block = RichTable(box=None, pad_edge=False, padding=(0, 1, 0, 0))
        for head in table.heads:
            block.add_column(key(head), max_width=_WIDEST_KEY, overflow="fold", vertical="top")
        for column in table.columns[first:last]:
            block.add_column(Text(_folded(column.name)), justify="right", vertical="top", overflow="fold")
        for keys, cells in table.rows:
            block.add_row(*map(key, keys), *map(_text, cells[first:last]))
        yield block


def _cuts(table: Table, width: int) -> Iterator[tuple[int, int]]:
    """Which columns stand beside each other: from, and up to."""
    keys = [max([len(head), *(len(row[n]) for row, _ in table.rows)]) for n, head in enumerate(table.heads)]
    room = width - sum(min(key, _WIDEST_KEY) + 1 for key in keys)
    first = used = 0
    for n, column in enumerate(table.columns):
        texts = [cell.text + cell.mark for _, cells in table.rows for cell in cells[n : n + 1]]
        needed = 1 + max(
            max((len(part) for part in _folded(column.name).split("\n")), default=0),
            max((len(text) for text in texts), default=0),
            max((len(cells[n].interval) for _, cells in table.rows), default=0),
        )
        if used and used + needed > room:
            yield first, n
            first, used = n, 0
        used += needed
    if first < len(table.columns):
        yield first, len(table.columns)


def _folded(name: str) -> str:
    """A column's name in short lines."""
    return flat(name).replace("-", "-\n").replace("_", "_\n").replace(" ", "\n")


def _text(cell: Cell) -> Text:
    from rich.text import Text

    text = Text(cell.text + cell.mark, style="bold" if cell.best else "")
    if cell.interval:
        text.append(f"\n{cell.interval}", style="not bold dim")
    return text
