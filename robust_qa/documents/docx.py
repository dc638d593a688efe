"""Read the blocks of Word files, with the library python-docx."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from typing import IO, Any

from .blocks import Block, Blocks, Unreadable, as_title

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_HEADING = re.compile(r"heading (\d)", re.I)
_TEXTS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_DROPPED = frozenset(f"{_W}{name}" for name in ("del", "moveFrom", "pPr", "rPr", "tblPr", "tcPr", "trPr", "sdtPr"))
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"  # a second copy of a text box
_UNREAD = {
    "object": "embedded objects", "chart": "charts", "altChunk": "imported documents", "relIds": "diagrams",
    "commentReference": "comments", "footnoteReference": "footnotes", "endnoteReference": "endnotes",
}  # fmt: skip


def read_docx(stream: IO[bytes], limit: int) -> tuple[str, list[Block], list[str]]:
    """Return the title ("" if none), the blocks, and the kinds of content that are not read.

    Raises ModuleNotFoundError without python-docx.

    Raises Unreadable if the file has more than `limit` bytes when decompressed.
    """
    import docx

    with zipfile.ZipFile(stream) as archive:
        if sum(member.file_size for member in archive.infolist()) > limit:
            raise Unreadable(f"it has more than {limit / 1e6:,.0f} MB when decompressed")
    document = docx.Document(stream)
    reader = _Reader({style.style_id: style.name or "" for style in document.styles})
    reader.read(document.element.body)
    names = {str(element.tag).rpartition("}")[2] for element in document.element.body.iter()}
    unread = [kind for name, kind in _UNREAD.items() if name in names]
    return as_title(document.core_properties.title or reader.title), reader.blocks.found, unread


class _Reader:
    """Reads paragraphs and tables wherever they are: also in content controls, insertions and text boxes."""

    def __init__(self, styles: dict[str, str]) -> None:
        self.title = ""
        self.blocks = Blocks()
        self._styles = styles  # names by id

    def read(self, element: Any) -> None:
        """Add the blocks in `element`, in order."""
        for part in _outermost(element, "p", "tbl"):
            if part.tag == f"{_W}tbl":
                self._table(part)
            else:
                self._paragraph(part)

    def _paragraph(self, paragraph: Any) -> None:
        text = _text(paragraph)
        name = self._styles.get(_value(paragraph, "pPr", "pStyle"), "")
        if style := _HEADING.match(name):
            self.blocks.heading(int(style[1]) + 1, text)
        elif name == "Title":
            self.title = self.title or text
        elif level := _value(paragraph, "pPr", "numPr", "ilvl"):
            self.blocks.item("-", text, 0, int(level))
        elif name.startswith("List"):
            number = re.search(r"\d+\Z", name)
            self.blocks.item("-", text, 0, int(number[0]) - 1 if number else 0)
        else:
            self.blocks.paragraph(text)
        for box in _outermost(paragraph, "txbxContent"):
            self.read(box)

    def _table(self, table: Any) -> None:
        rows = [list(_outermost(row, "tc")) for row in _outermost(table, "tr")]
        most = max(map(len, rows), default=0)
        inner: list[Any] = []
        shown: list[list[str]] = []
        for row in rows:
            cells: list[str] = []
            for cell in row:
                if (merged := cell.find(f"{_W}tcPr/{_W}vMerge")) is not None and merged.get(f"{_W}val") != "restart":
                    text = shown[-1][len(cells)] if shown and len(cells) < len(shown[-1]) else ""
                else:
                    text = "\n".join(map(_text, _outermost(cell, "p", "tbl", only="p")))
                # A merged cell repeats in its columns, of which a file may state any number.
                cells += [text] * min(int(_value(cell, "tcPr", "gridSpan") or 1), most)
                inner += _outermost(cell, "tbl", "txbxContent")
            shown.append(cells)
        for cells in shown[1:] or shown:
            self.blocks.row(shown[0] if len(shown) > 1 else (), cells)
        for each in inner:
            self._table(each) if each.tag == f"{_W}tbl" else self.read(each)


def _outermost(element: Any, *names: str, only: str = "") -> Iterator[Any]:
    """Yield the elements of these names in `element` that are not inside one another, `only` those of one name."""
    tags = {f"{_W}{name}" for name in names}
    waiting = list(reversed(element))
    while waiting:
        part = waiting.pop()
        if part.tag in tags:
            if not only or part.tag == f"{_W}{only}":
                yield part
        elif part.tag not in _DROPPED and part.tag != _FALLBACK:
            waiting += reversed(part)


def _text(paragraph: Any) -> str:
    """Return the text of a paragraph, without text boxes."""
    parts: list[str] = []
    for part in _outermost(paragraph, "t", "txbxContent", *_TEXTS):
        name = part.tag.removeprefix(_W)
        parts.append(_TEXTS.get(name, part.text or "") if name != "txbxContent" else "")
    return "".join(parts)


def _value(element: Any, *path: str) -> str:
    """Return the attribute `val` of the element at `path`, "" if there is none."""
    found = element.find("/".join(f"{_W}{name}" for name in path))
    return "" if found is None else found.get(f"{_W}val", "")
