"""Read where the words and the ruled lines of a page of a PDF stand, with the library pypdfium2."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pypdfium2 import PdfPage, PdfTextPage

_WORD = re.compile(r"[^\s\x00\x02\ufffe]+[\x02\ufffe]?")  # with pdfium's mark of a hyphen at a line's end
_HYPHEN = re.compile(r"[\x02\ufffe]")
_MARKS = frozenset("0123456789*∗†‡§)")  # of which the mark of a note consists
_SMALL = 0.85  # of the height of its word: a character that may be raised
_RAISED = 0.2  # of the height of its word, above the line
_THIN = 3.0  # points of a ruled line
_BOLD = 600


@dataclass(frozen=True, slots=True)
class Word:
    """A word, or several on one line, with its box in points from the top left. `order` is its place in the file.

    `mark` is raised behind it, as that of a note, and `note` before it, as at the beginning of a note.
    """

    text: str
    left: float
    top: float
    right: float
    bottom: float
    order: int
    bold: bool = False
    mark: str = ""
    note: str = ""

    @property
    def height(self) -> float:
        return self.bottom - self.top

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2


Box = tuple[float, float, float, float]
"""Left, top, right and bottom in points. Tops and bottoms grow downwards."""


def words_of(page: PdfPage, text: PdfTextPage) -> list[Word]:
    """Return the words of a page in the order of the file, without those that run up or down its margin."""
    import pypdfium2.raw as pdfium

    count, turn, box = text.count_chars(), page.get_rotation(), pdfium.FS_RECTF()
    content = text.get_text_range()
    if len(content) != count:  # it has characters beyond the first 65,536
        content = "".join(chr(pdfium.FPDFText_GetUnicode(text, n)) for n in range(count))

    def box_of(n: int) -> Box:
        pdfium.FPDFText_GetLooseCharBox(text, n, box)
        return _shown((box.left, box.bottom, box.right, box.top), turn)

    found = []
    for order, word in enumerate(_WORD.finditer(content)):
        first, last = box_of(word.start()), box_of(word.end() - 1)
        shown = _HYPHEN.sub("-", word[0])
        is_bold = pdfium.FPDFText_GetFontWeight(text, word.start()) >= _BOLD
        if word.end() - word.start() > 1 and abs(last[0] - first[0]) < abs(last[1] - first[1]):
            continue
        left, right = min(first[0], last[0]), max(first[2], last[2])
        begin, end = word.start(), word.end()
        while end - begin > 1 and content[end - 1] in _MARKS and _is_raised(box_of(end - 1), first):
            end -= 1
        while end - begin > 1 and content[begin] in _MARKS and _is_raised(box_of(begin), last):
            begin += 1
        mark, note = content[end : word.end()], content[word.start() : begin]
        shown = shown[len(note) : len(shown) - len(mark)]
        first = box_of(begin) if note else first
        found.append(Word(shown, left, first[1], right, max(first[3], first[1] + 1), order, is_bold, mark, note))
    return found


def _is_raised(box: Box, base: Box) -> bool:
    height = base[3] - base[1]
    return box[3] - box[1] < _SMALL * height and base[3] - box[3] > _RAISED * height


def _shown(box: Box, turn: int) -> Box:
    """Return a box as the page shows it, with the top before the bottom, from one in the space of the file."""
    left, low, right, high = box
    return {0: (left, -high, right, -low), 90: (low, left, high, right), 180: (-right, low, -left, high)}.get(
        turn, (-high, -right, -low, -left)
    )


def rules_of(page: PdfPage) -> tuple[list[Box], list[Box]]:
    """Return the horizontal and the vertical lines that are ruled on a page. A box has four."""
    import pypdfium2.raw as pdfium

    turn = page.get_rotation()
    across: list[Box] = []
    down: list[Box] = []
    for each in page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_PATH], max_depth=2):
        left, top, right, bottom = _shown(each.get_bounds(), turn)
        if bottom - top <= _THIN and right - left > 2 * _THIN:
            across.append((left, (top + bottom) / 2, right, (top + bottom) / 2))
        elif right - left <= _THIN and bottom - top > _THIN:
            down.append(((left + right) / 2, top, (left + right) / 2, bottom))
        elif pdfium.FPDFPath_CountSegments(each) in (4, 5) and bottom - top > 2 * _THIN:
            across += [(left, top, right, top), (left, bottom, right, bottom)]
            down += [(left, top, left, bottom), (right, top, right, bottom)]
    return across, down
