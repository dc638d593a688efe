"""Show a quote in its document, as rqa read it."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, groupby
from pathlib import Path
from typing import TYPE_CHECKING

from robust_qa.kit import cells_of, printable

from .blocks import Kind
from .document import Document, Formats
from .isolation import read

if TYPE_CHECKING:
    from rich.console import Console

_AROUND = 150  # blocks before and after the quote
_MOST_FOUND = 50  # places of a quote that are compared
_STOP = re.compile(r"[^\w\s]*")
_NUMBER = re.compile(r"\d+")


@dataclass
class Shown:
    """A block to show. `cells` are the columns and cells of a row, `marks` the offsets of the quote in the text.

    `place` is that of the document that begins here, such as "page 3", else "".
    """

    kind: Kind
    text: str
    level: int
    line: int
    place: str = ""
    cells: list[tuple[str, str]] = field(default_factory=list)
    marks: list[tuple[int, int]] = field(default_factory=list)


@dataclass
class View:
    """The blocks around a quote, and how many blocks are before and after them. `hit`: the first with the quote."""

    title: str
    blocks: list[Shown]
    before: int
    after: int
    hit: int | None


def view_of(path: Path, formats: Formats, quote: str, place: str = "", around: int = _AROUND) -> View:
    """Return the part of a file around a quote, or its beginning if it has no such text. `place`: of the citation.

    Raises OSError and Unreadable.
    """
    documents = list(read(path, lambda *_: None, formats))
    blocks = list(_blocks(documents))
    _mark(blocks, quote, place)
    hit = next((n for n, block in enumerate(blocks) if block.marks), None)
    first = max(0, (hit or 0) - around)
    last = min(len(blocks), (hit or 0) + around + 1)
    title = printable(next((each.title for each in documents), ""))
    return View(title, blocks[first:last], first, len(blocks) - last, None if hit is None else hit - first)


def _blocks(documents: Iterable[Document]) -> Iterator[Shown]:
    before = ""
    for document in documents:
        part = re.sub(r",? ?\b(?:line|row|cell|paragraph)\b.*", "", document.place)
        for block in document.blocks:
            text = printable(block.text).replace(" \n", " ")  # wrapped text
            cells = cells_of(text) if block.kind == "row" else []
            line = block.line or next(map(int, _NUMBER.findall(document.place)[-1:]), 0)
            yield Shown(block.kind, text, block.level, line, part if part != before else "", cells)
            before = part


def _mark(blocks: Sequence[Shown], quote: str, place: str) -> None:
    """Mark the quote in the blocks, in which spaces, line ends and the marks of lists may be others."""
    wanted = max((_squeezed(part) for part in quote.split("…")), key=len)
    texts = [_squeezed(block.text) for block in blocks]
    starts = [0, *accumulate(map(len, texts))]
    whole = "".join(texts)
    places, at = list[int](), whole.find(wanted) if wanted else -1
    while at >= 0 and len(places) < _MOST_FOUND:
        places.append(at)
        at = whole.find(wanted, at + 1)
    if not places:
        return
    line = next(map(int, _NUMBER.findall(re.sub(r" \(printed [^()]*\)$", "", place))[-1:]), 0)
    begin = min(places, key=lambda at: abs(blocks[bisect_right(starts, at) - 1].line - line) if line else 0)
    end = begin + len(wanted)
    for n in range(bisect_right(starts, begin) - 1, len(blocks)):
        if starts[n] >= end:
            return
        text = blocks[n].text
        offsets = [offset for offset, character in enumerate(text) if character.isalnum()]
        if own := offsets[max(0, begin - starts[n]) : end - starts[n]]:
            stop = _STOP.match(text, own[-1] + 1)
            blocks[n].marks.append((own[0], stop.end() if stop else own[-1] + 1))


def _squeezed(text: str) -> str:
    """Return the letters and digits of a text."""
    return "".join(filter(str.isalnum, text))


def print_view(view: View, name: str, around: int = 6) -> None:
    """Print the blocks around the quote on stdout, with the quote marked. `name`: of the file."""
    from rich.text import Text

    from robust_qa.cli import console, print_wrapped

    out, hit = console(), view.hit or 0
    out.print(Text(name.removeprefix(f"{Path.cwd()}{os.sep}"), style="magenta"), soft_wrap=True)
    if view.hit is None:
        out.print(Text("The file does not have this quote any more. It begins:", style="dim"))
    shown = view.blocks[max(0, hit - around) : hit + around + 1]
    for columns, group in groupby(shown, lambda block: tuple(column for column, _ in block.cells)):
        if columns:
            out.print()
            _print_table(out, columns, group)
            continue
        for block in group:
            if block.place:
                out.print(Text(f"\n{block.place}", style="dim"))
            line = Text(block.text, "bold" if block.kind == "heading" else "")
            for start, end in block.marks:
                line.stylize("reverse", start, end)
            out.print()
            print_wrapped(out, line, 2 * block.level * (block.kind != "heading"))


def _print_table(out: Console, columns: Sequence[str], rows: Iterable[Shown]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in columns:
        table.add_column(Text(column))
    for row in rows:
        table.add_row(*(Text(value) for _, value in row.cells), style="reverse" if row.marks else "")
    out.print(table)
