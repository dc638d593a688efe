"""Read the blocks of Word files, with the library python-docx."""

from __future__ import annotations

import re
from typing import IO, TYPE_CHECKING, Any

from .blocks import Block, Blocks, as_title

if TYPE_CHECKING:
    from docx.text.paragraph import Paragraph

_HEADING = re.compile(r"heading (\d)", re.I)


def read_docx(stream: IO[bytes]) -> tuple[str, list[Block]]:
    """Return the title ("" if none) and the blocks. Raises ModuleNotFoundError without python-docx."""
    import docx
    from docx.table import Table

    document = docx.Document(stream)
    blocks = Blocks()
    title = document.core_properties.title or ""
    for part in document.iter_inner_content():
        if isinstance(part, Table):
            rows = [[cell.text for cell in row.cells] for row in part.rows]
            for row in rows[1:] or rows:
                blocks.row(rows[0] if len(rows) > 1 else (), row)
        elif style := _HEADING.match(_style(part)):
            blocks.heading(int(style[1]) + 1, part.text)
        elif _style(part) == "Title":
            title = title or part.text
        elif (depth := _depth(part)) is not None:
            blocks.item("-", part.text, 0, depth)
        else:
            blocks.paragraph(part.text)
    return as_title(title), blocks.found


def _style(paragraph: Paragraph) -> str:
    return (paragraph.style.name if paragraph.style else "") or ""


def _depth(paragraph: Paragraph) -> int | None:
    """Return the depth of a list item, None if the paragraph is none."""
    properties = paragraph._p.pPr
    numbering: Any = properties.numPr if properties is not None else None
    if numbering is not None and numbering.ilvl is not None:
        return int(numbering.ilvl.val)
    if _style(paragraph).startswith("List"):
        number = re.search(r"\d+\Z", _style(paragraph))
        return int(number[0]) - 1 if number else 0
    return None
