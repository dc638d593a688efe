"""The blocks of a document: headings, paragraphs, list items, option entries, table rows and code."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

from robust_qa.kit import sentences, tidy

Kind = Literal["heading", "paragraph", "item", "option", "row", "code"]

_LONGEST_TITLE = 300  # characters
_LONGEST_LEAD = 300  # characters of a line that is repeated above a continued list
_DEEPEST = 8  # depth in lists; deeper blocks count as this deep
_SHORT = 12  # words of a line that introduces a list without a colon
_COLONS = (":", "：")
_LONGEST_WORD = 400  # characters
_DATA = re.compile(rf"[\w+/=-]{{{_LONGEST_WORD},}}", re.ASCII)  # such as a picture in base64
_LINE_END = re.compile(r"(?<! ) *+\r[ \r]*+\n?|\n")
_STOPPED = re.compile(r"[.!?…。！？][^\w.!?…。！？]*\Z")  # linear, unlike \W* after each stop
_ASKED = re.compile(r"[.:?!,;]\Z")


class Unreadable(Exception):
    """The file cannot be read. The message is the reason, to follow the path."""


class TemporarilyUnreadable(Unreadable):
    """The file cannot be read now, for lack of time or memory. Another attempt may succeed."""


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a document, as shown to a reader, without markup.

    `level` is the level of a heading (1 is the highest), otherwise the depth in lists. `above` has the line that
    introduces a list and the items that contain this block. `line` is its first line in the file, 0 if unknown, and
    `lines` has that of each line of the text, () if all are of the first. A line of wrapped text ends in a space.
    """

    kind: Kind
    text: str
    level: int = 0
    above: tuple[str, ...] = ()
    line: int = 0
    lines: tuple[int, ...] = field(default=(), compare=False)

    @property
    def line_numbers(self) -> tuple[int, ...]:
        """The line in the file of each line of the text."""
        return self.lines or (self.line,) * (self.text.count("\n") + 1)


class Blocks:
    """Collects the blocks of a document in `found`. Blocks without text are dropped.

    A carriage return in a text says that a line of the file ends there, though none may end for a reader of the text.
    With `lined` each line feed says so, too.
    """

    def __init__(self, *, lined: bool = False) -> None:
        self._lined = lined
        self.found: list[Block] = []
        self._last = ""  # paragraph, which may introduce a list
        self._items: list[str] = []
        self._kind: Kind = "paragraph"  # of the last block outside of items

    def heading(self, level: int, text: str, line: int = 0) -> None:
        """Add a heading, as one line."""
        self._last, self._items, self._kind = "", [], "paragraph"
        self._add("heading", as_title(text), level, (), line)

    def paragraph(self, text: str, line: int = 0, depth: int = 0) -> None:
        """Add a paragraph, inside `depth` list items."""
        if not text.strip():
            return
        depth = min(depth, _DEEPEST)
        above = self._above("paragraph", depth) if depth else ()
        self._add("paragraph", text, depth, above, line)
        if not depth:
            self._last, self._items, self._kind = self.found[-1].text, [], "paragraph"

    def item(self, mark: str, text: str, line: int = 0, depth: int = 0) -> None:
        """Add an item of a list, inside `depth` other items."""
        depth = min(depth, _DEEPEST)
        text = f"{mark} {text.strip()}".strip()
        self._add("item", text, depth, self._above("item", depth), line)
        self._items[depth:] = [_first_sentence(text)]

    def option(self, term: str, description: str, line: int = 0, depth: int = 0) -> None:
        """Add a term with its description, in one line."""
        depth = min(depth, _DEEPEST)
        term = " ".join(term.split())
        colon = "" if not term or not description or _ASKED.search(term) else ":"
        self._add("option", f"{term}{colon} {description.strip()}".strip(), depth, self._above("option", depth), line)
        self._items[depth:] = [term]

    def row(self, header: Sequence[str], cells: Sequence[str], line: int = 0, depth: int = 0) -> None:
        """Add a row of a table: "Header: cell; Header: cell", or "cell | cell" without a header."""
        shown = [" ".join(cell.split()) for cell in cells]
        if header:
            names = [" ".join(name.split()) for name in header] + [""] * len(shown)
            pairs = [f"{name}: {cell}" if name else cell for name, cell in zip(names, shown, strict=False) if cell]
            text = "; ".join(pairs)
        else:
            text = " | ".join(filter(None, shown))
        self._add("row", text, min(depth, _DEEPEST), self._above("row", depth), line)

    def code(self, text: str, line: int = 0, depth: int = 0, *, lined: bool = False) -> None:
        """Add a block of code. Its lines and their indents stay. `lined` is as for the class."""
        if lined:
            line += len(text) - len(text.lstrip("\n"))
        text = text.expandtabs(4).strip("\n").rstrip()
        self._add("code", text, min(depth, _DEEPEST), self._above("code", depth), line, lined=lined)

    def extend(self, blocks: Sequence[Block]) -> None:
        """Add blocks that another collector made."""
        self.found += blocks

    def _above(self, kind: Kind, depth: int) -> tuple[str, ...]:
        if not depth:
            if self._kind not in ("paragraph", kind):  # the list that was introduced has ended
                self._last = ""
            self._kind = kind
        lead = _lead(self._last)
        lead = lead if kind != "code" or lead.endswith(_COLONS) else ""
        return tuple(filter(None, (lead, *self._items[: min(depth, _DEEPEST)])))

    def _add(
        self, kind: Kind, text: str, level: int, above: tuple[str, ...], line: int, *, lined: bool = False
    ) -> None:
        if len(text) > _LONGEST_WORD:
            text = _DATA.sub("…", text)
        text = tidy(text) if kind == "code" else tidy(text).strip()
        text, lines = _laid_out(text.replace("\n", "\r\n") if lined or self._lined else text, line)
        if text.strip():
            self.found.append(Block(kind, text, level, above, line, lines))


def as_title(title: str) -> str:
    """Return `title` as one line of limited length."""
    return " ".join(title.split())[:_LONGEST_TITLE]


def title_of(blocks: Sequence[Block]) -> str:
    """Return the heading that is the title of a document, "" if it has none.

    It is the only heading of the highest level. A document may use that level for sections too; then the heading is
    the first of level 1, unless most of them have numbers, as in a list of releases.
    """
    headings = [block for block in blocks if block.kind == "heading"]
    if not headings:
        return ""
    level = min(heading.level for heading in headings)
    highest = [heading for heading in headings if heading.level == level]
    numbered = sum(bool(re.search(r"\d", heading.text)) for heading in highest)
    is_first = highest[0] == headings[0] and level == 1 and numbered <= len(highest) / 2
    return highest[0].text if len(highest) == 1 or is_first else ""


def unwrapped(text: str) -> str:
    """Return `text` as one line."""
    return " ".join(text.split())


@lru_cache(maxsize=1)
def _lead(text: str) -> str:
    """Return the last sentence of a paragraph if it introduces a list."""
    end = text[-2 * _LONGEST_LEAD :]
    spans = sentences(end)
    if not spans:
        return ""
    last = end[spans[-1][0] : spans[-1][1]]
    introduces = last.endswith(_COLONS) or (len(text.split()) <= _SHORT and not _STOPPED.search(end))
    return last if introduces and len(last) <= _LONGEST_LEAD else ""


def _first_sentence(text: str) -> str:
    line = text.replace("\r", " ").partition("\n")[0][: 2 * _LONGEST_LEAD]
    spans = sentences(line)
    shown = line[: spans[0][1]] if spans else ""
    return shown if len(shown) <= _LONGEST_LEAD else ""


def _laid_out(text: str, line: int) -> tuple[str, tuple[int, ...]]:
    """Return a text without carriage returns, and the line in the file of each of its lines, which begins at `line`."""
    lines = [line]

    def broken(end: re.Match[str]) -> str:
        lines.append(line and lines[-1] + end[0].count("\r"))
        return "\n" if end[0].endswith("\n") else " \n"

    return _LINE_END.sub(broken, text), tuple(lines)


def numbered(blocks: Sequence[Block], number: Callable[[int], int]) -> list[Block]:
    """Return `blocks` with another number for each line, such as that of its paragraph."""
    return [replace(block, line=number(block.line), lines=(*map(number, block.lines),)) for block in blocks]


def unlined(blocks: Sequence[Block]) -> list[Block]:
    """Return `blocks` without their lines, which are not those of the file."""
    return [Block(block.kind, block.text, block.level, block.above) for block in blocks]
