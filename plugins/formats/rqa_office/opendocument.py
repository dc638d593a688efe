"""Read the sheets and slides of OpenDocument files, of which the library xberg loses rows, columns and slides."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.etree import ElementTree

from rqa_files import Block, Blocks, Row, are_names, spanning

_DRAW, _PRESENTATION, _STYLE, _TABLE, _TEXT, _OFFICE = (
    f"{{urn:oasis:names:tc:opendocument:xmlns:{name}:1.0}}"
    for name in ("drawing", "presentation", "style", "table", "text", "office")
)
_SPACES = (f"{_TEXT}s", f"{_TEXT}tab", f"{_TEXT}line-break")
_NOTES = f"{_PRESENTATION}notes"
_NOTE = f"{_OFFICE}annotation"
_BESIDE = ("page-number", "date-time", "footer", "header")  # classes of frames beside the text
_HIDDEN = ("collapse", "filter")


@dataclass(slots=True)
class Sheet:
    """The rows of a sheet, and which of its rows and how many of its columns are hidden."""

    name: str
    is_hidden: bool
    rows: list[Row] = field(default_factory=list)
    folded: list[int] = field(default_factory=list)
    columns: int = 0


def sheets_of(content: bytes) -> Iterator[Sheet]:
    """Yield the sheets of a spreadsheet. A merged cell is in each of its rows."""
    hidden, sheet, number = set(), Sheet("", is_hidden=True), 0
    merged: dict[int, tuple[int, str]] = {}  # text of cells by column, with their last rows
    with zipfile.ZipFile(io.BytesIO(content)) as archive, archive.open("content.xml") as stream:
        for event, element in ElementTree.iterparse(stream, ("start", "end")):  # noqa: S314 - in a worker with limits
            match element.tag.rpartition("}")[2], event:
                case "style", "end" if any(each.get(f"{_TABLE}display") == "false" for each in element):
                    hidden.add(element.get(f"{_STYLE}name"))
                case "table", "start":
                    name, style = element.get(f"{_TABLE}name", ""), element.get(f"{_TABLE}style-name")
                    sheet, number, merged = Sheet(name, style in hidden), 0, {}
                case "table-column", "end" if element.get(f"{_TABLE}visibility") in _HIDDEN:
                    sheet.columns += int(element.get(f"{_TABLE}number-columns-repeated", 1))
                case "table-row", "end":
                    found = _cells(element, number + 1, merged)
                    times = int(element.get(f"{_TABLE}number-rows-repeated", 1))
                    for n in range(number + 1, number + times + 1) if found else ():
                        sheet.rows.append(Row([*found.values()], n, n, places=[*found]))
                        sheet.folded += [n] if element.get(f"{_TABLE}visibility") in _HIDDEN else []
                    number += times
                    element.clear()
                case "table", "end":
                    yield sheet
                    element.clear()


def _cells(row: ElementTree.Element, number: int, merged: dict[int, tuple[int, str]]) -> dict[int, str]:
    """Return the cells with text by column, and add to `merged` those that go on in the rows below."""
    found: dict[int, str] = {}
    column = 0
    for cell in row:
        times = int(cell.get(f"{_TABLE}number-columns-repeated", 1))
        last, above = merged.get(column, (0, ""))
        is_covered = cell.tag == f"{_TABLE}covered-table-cell"
        text = above if is_covered and number <= last else _value(cell)
        if text:
            found.update((n, text) for n in range(column, column + (1 if is_covered else times)))
            if rows := int(cell.get(f"{_TABLE}number-rows-spanned", 1)) - 1:
                merged[column] = number + rows, text
        column += times
    return found


def _value(cell: ElementTree.Element) -> str:
    """Return a cell as text: a date in ISO's form, a number in full."""
    stated = {"date": f"{_OFFICE}date-value", "float": f"{_OFFICE}value"}
    for note in cell.findall(_NOTE):
        cell.remove(note)
    text = "\n".join(_shown(each) for each in cell.iter(f"{_TEXT}p")).strip()
    value = cell.get(stated.get(cell.get(f"{_OFFICE}value-type", ""), ""), text)
    return value.removesuffix("T00:00:00") if text else ""


def slides_of(content: bytes) -> Iterator[tuple[list[Block], bool]]:
    """Yield the blocks of each slide with its notes at the end, and whether it is hidden."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        root = ElementTree.fromstring(archive.read("content.xml"))  # noqa: S314 - in a worker with limits
    hidden = {
        style.get(f"{_STYLE}name")
        for style in root.iter(f"{_STYLE}style")
        if any(each.get(f"{_PRESENTATION}visibility") == "hidden" for each in style)
    }
    for page in root.iter(f"{_DRAW}page"):
        blocks = Blocks()
        for frame in sorted(page, key=lambda each: (each.tag == _NOTES, not _is_title(each))):
            _add(blocks, frame, is_title=_is_title(frame))
        yield blocks.found, page.get(f"{_DRAW}style-name") in hidden


def _is_title(frame: ElementTree.Element) -> bool:
    return frame.get(f"{_PRESENTATION}class") == "title"


def _add(blocks: Blocks, element: ElementTree.Element, depth: int = 0, *, is_title: bool = False) -> None:
    for each in element:
        if each.tag in (f"{_TEXT}p", f"{_TEXT}h") and is_title:
            blocks.heading(2, _shown(each))
        elif each.tag in (f"{_TEXT}p", f"{_TEXT}h") and _shown(each).strip():
            if depth:
                blocks.item("-", _shown(each), depth=depth - 1)
            else:
                blocks.paragraph(_shown(each))
        elif each.tag == f"{_TABLE}table":
            _add_table(blocks, each)
        elif each.tag not in (f"{_DRAW}object", _NOTE) and each.get(f"{_PRESENTATION}class") not in _BESIDE:
            _add(blocks, each, depth + (each.tag == f"{_TEXT}list"), is_title=is_title)


def _add_table(blocks: Blocks, table: ElementTree.Element) -> None:
    merged: dict[int, tuple[int, str]] = {}
    found = [_cells(row, n, merged) for n, row in enumerate(table.iter(f"{_TABLE}table-row"))]
    width = max((column + 1 for row in found for column in row), default=0)
    rows = [[row.get(column, "") for column in range(width)] for row in found]
    header = rows.pop(0) if len(rows) > 1 and are_names(rows[0]) else []
    if header and (names := spanning(header, rows[0])):
        header = names
        del rows[0]
    for cells in rows:
        blocks.row(header, cells)


def _shown(paragraph: ElementTree.Element) -> str:
    for each in paragraph.iter():
        if each.tag in _SPACES:
            each.text = " "
    return "".join(paragraph.itertext())
