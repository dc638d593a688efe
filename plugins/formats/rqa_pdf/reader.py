"""Read PDF files, with the library pypdfium2, and pages that are pictures with tesseract."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from rqa_files import (
    Block,
    Blocks,
    Document,
    File,
    Report,
    Unreadable,
    are_names,
    joined,
    numbered,
    read_plain,
    spanning,
)

from .layout import Line, Part, Table, lines_of, parts_of, rows_of
from .notes import TOKEN, without_notes
from .words import Box, rules_of, words_of

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage

_SECONDS = 20.0  # of processor time for the pictures of one file
_LAYOUT = 15.0  # seconds of processor time for the layout of one file; the pages after that are read as text alone
_SCALE = 200 / 72  # points to the 200 dots per inch at which tesseract reads print well
_TOGETHER = 50  # pages in a document
_EDGE = 3  # rows at the top and at the bottom of a page that may be running heads and feet
_LARGE = 1.08  # times the usual height of a line: a heading
_PARAGRAPH = 1.4  # times the usual step between lines: a new paragraph
_HEADING = 12  # words
_APART = 1.6  # times the height of a line: what is nearer to the text is no running head
_SENTENCE = 5  # words; what is as long and ends in a stop is no running head
_NEAR = 4.0  # points by which the place of a line may differ from page to page
_SHORT = 4  # words of a line that may be a caption
_INDENT = 0.8  # times the height of a line
_SHIFT = 12.0  # points that the columns of one table may differ on two pages
_BOLD = 0.3  # of the lines of a page: where more are bold, that makes no heading
_NO_TITLES = ("", "about:blank", "anonymous", "untitled")  # what programs write without one
_STOPPED = re.compile(r"[.!?…。！？:;][\"'”’)\]»]*(?:\ue001\d+\ue001)*\Z")
_NUMBER = re.compile(r"\d+|\b[ivxlcdm]+\b", re.I)
_DIGITS = re.compile(r"\b\d{1,5}\b")
_HYPHEN = re.compile(r"[\x02\ufffe]\s*")  # pdfium's mark of a hyphen at a line's end
_TABLE = re.compile(r"\ue000(\d+)\ue000")  # stands for a table in the text


def read_pdf(file: File, report: Report) -> Iterator[Document]:
    """Yield the pages, up to `_TOGETHER` in a document. Reports the pages that have no text."""
    import pypdfium2

    with file.open() as stream:
        content = stream.read()
    try:
        pdf = pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        reason = (
            "it is protected by a password; save a copy without one to read it"
            if "password" in str(error).lower()
            else f"it is damaged: {error}"
        )
        raise Unreadable(reason) from error
    title = pdf.get_metadata_value("Title").removeprefix("Microsoft Word - ")
    title = file.stem if title.strip("()").lower() in _NO_TITLES else title
    pictures: list[int] = []
    most, until = _spent() + _SECONDS, time.process_time() + _LAYOUT
    running: set[str] = set()
    notes: list[str] = []
    for first in range(1, len(pdf) + 1, _TOGETHER):
        pages: list[_Page] = []
        for number in range(first, min(first + _TOGETHER, len(pdf) + 1)):
            page = _page(pdf, number, most, notes, plain=time.process_time() > until)
            if page is None:
                pictures.append(number)
            else:
                pages.append(page)
        running |= _repeated(pages)
        if blocks := [each for block in _blocks(pages, running) for each in _noted(block, notes)]:
            found = file.document(title, blocks, part=f"page={first}" if first > 1 else "", place="page")
            yield replace(found, labels=_labels(pages))
    if pictures:
        pages_are = "page is a picture" if len(pictures) == 1 else "pages are pictures"
        numbers = ", ".join(map(str, pictures[:20])) + (", …" if len(pictures) > 20 else "")
        why = "tesseract found no text in the time it has" if _tesseract() else "install tesseract to read pictures"
        report(str(file.path), f"{len(pictures):,} {pages_are} without text ({numbers}): {why}")


@dataclass(slots=True)
class _Page:
    """The lines of a page in the order of the file, and its ruled lines, or the text that was recognised in it."""

    number: int
    lines: list[Line] = field(default_factory=list)
    across: list[Box] = field(default_factory=list)
    down: list[Box] = field(default_factory=list)
    text: str = ""
    label: str = ""  # that the file states
    printed: set[int] = field(default_factory=set)  # numbers in its running heads and feet


def _page(pdf: PdfDocument, number: int, most: float, notes: list[str], *, plain: bool = False) -> _Page | None:
    """Return a page, None for a picture that was not read. Reads pictures while `_spent` is below `most`.

    With `plain`, it is without its layout.
    """
    page, label = pdf[number - 1], pdf.get_page_label(number - 1)
    try:
        if plain and (text := page.get_textpage().get_text_range()).strip():
            return _Page(number, text=_HYPHEN.sub("-\n", text.replace("\r\n", "\n")), label=label)
        if words := words_of(page, page.get_textpage()):
            return _Page(number, without_notes(lines_of(words), notes), *rules_of(page), label=label)
        if next(page.get_objects(max_depth=2), None) is None:
            return _Page(number)
        if not _tesseract() or _spent() > most:
            return None
        text = _recognised(page)
        return _Page(number, text=text) if text.strip() else None
    finally:
        page.close()


def _repeated(pages: Sequence[_Page]) -> set[str]:
    """Return the rows at the edges of pages that repeat on others but for a number."""
    counts: Counter[str] = Counter()
    for page in pages:
        rows = rows_of(page.lines)
        keys = {_key(row) for row in (*rows[:_EDGE], *rows[-_EDGE:])}
        counts.update(key for key in keys if len(key.split()) < _SENTENCE or not _STOPPED.search(key))
    least = 2 if len(pages) < 2 * _EDGE else _EDGE
    return {key for key, count in counts.items() if count >= least}


def _beside(pages: Sequence[_Page]) -> set[tuple[str, int, int]]:
    """Return the lines that stand at the same place of several pages, such as the title in the margin."""
    counts = Counter(place for page in pages for place in {_place(line) for line in page.lines})
    return {place for place, count in counts.items() if count >= _EDGE}


def _is_in_margin(line: Line, lines: Sequence[Line]) -> bool:
    """Return whether a line is beside others, with hardly any above or below it."""
    stacked = [each for each in lines if each.left < line.right and line.left < each.right]
    beside = any(each.top < line.middle < each.bottom for each in lines if each not in stacked)
    return beside and len(stacked) <= _EDGE


def _place(line: Line) -> tuple[str, int, int]:
    return _NUMBER.sub("#", line.text), round(line.left / _NEAR), round(line.top / _NEAR)


def _key(row: Sequence[Line]) -> str:
    return _NUMBER.sub("#", " ".join(line.text for line in row))


def _body(page: _Page, running: set[str], beside: set[tuple[str, int, int]]) -> list[Line]:
    """Return the lines of a page without its running heads and feet, which stand apart from the text."""
    margin = [line for line in page.lines if _place(line) in beside and _is_in_margin(line, page.lines)]
    page.lines = [line for line in page.lines if line not in margin]
    rows = rows_of(page.lines)
    for each in (rows, rows[::-1]):
        edge = next((n for n, row in enumerate(each[:_EDGE]) if _key(row) not in running), min(len(each), _EDGE))
        edge = edge if edge < len(each) else 0
        while edge and abs(each[edge][0].middle - each[edge - 1][0].middle) < _APART * each[edge][0].height:
            edge -= 1
        out = {id(line) for row in each[:edge] for line in row}
        page.printed |= {int(number) for row in each[:edge] for line in row for number in _DIGITS.findall(line.text)}
        page.lines = [line for line in page.lines if id(line) not in out]
    return page.lines


@dataclass
class _Text:
    """Collects the text of pages, with the page of each line, and their tables."""

    lines: list[str] = field(default_factory=list)
    pages: list[int] = field(default_factory=list)
    tables: list[tuple[Table, int]] = field(default_factory=list)
    last: Line | None = None  # of the paragraph that is open
    bold: bool = False  # whether bold lines of this page are headings

    def add(self, text: str, page: int) -> None:
        self.lines.append(text)
        self.pages.append(page)

    def add_page(self, parts: Sequence[Part], page: int) -> None:
        lines = [part for part in parts if isinstance(part, Line)]
        height = median(word.height for line in lines for word in line.words) if lines else 0.0
        self.bold = sum(map(_is_bold, lines)) < _BOLD * len(lines)
        steps = [two.top - one.top for one, two in pairwise(lines) if 0 < two.top - one.top < 3 * height]
        step = median(steps) if steps else height
        for part in parts:
            if isinstance(part, Table):
                self.tables.append((part, page))
                for text in ("", f"\ue000{len(self.tables) - 1}\ue000", ""):
                    self.add(text, page)
                self.last = None
                continue
            before, self.last = self.last, part
            if before and self._is_heading(part, height):
                if self._is_heading(before, height) and abs(part.height - before.height) < 1 and part.top > before.top:
                    self.lines[-1] += f" {part.text}"
                    continue
                self.add("", page)
            elif before and (self._is_heading(before, height) or _parts(before, part, step)):
                self.add("", page)
            self.add(part.text, page)

    def _is_heading(self, line: Line, height: float) -> bool:
        is_set_off = min(word.height for word in line.words) > _LARGE * height or (self.bold and _is_bold(line))
        return is_set_off and len(line.words) <= _HEADING and not _STOPPED.search(line.text)


def _is_bold(line: Line) -> bool:
    return all(word.bold for word in line.words)


def _parts(before: Line, line: Line, step: float) -> bool:
    """Return whether a paragraph begins at `line`."""
    is_ended = _STOPPED.search(before.text) is not None
    is_short = len(before.words) < _SHORT
    if 0 < line.top - before.top < _PARAGRAPH * step:
        return is_ended and line.left > before.left + _INDENT * line.height
    return is_ended or not (line.text[0].islower() or (before.words[-1].text.islower() and not is_short))


def _blocks(pages: Sequence[_Page], running: set[str]) -> list[Block]:
    """Return the blocks of pages, with the number of its page as the line of each."""
    collected, beside = _Text(), _beside(pages)
    for page in pages:
        if page.text:
            for line in ("", *page.text.splitlines(), ""):
                collected.add(line, page.number)
            collected.last = None
        else:
            collected.add_page(parts_of(_body(page, running, beside), page.across, page.down), page.number)
    text = "\n".join(collected.lines)
    found: list[Block] = []
    above: tuple[Table, list[str]] | None = None
    for block in numbered(read_plain(text)[1], lambda line: collected.pages[line - 1]):
        if mark := _TABLE.fullmatch(block.text):
            table, number = collected.tables[int(mark[1])]
            header = _header(table, above)
            above = table, header
            found += _rows(table, header, number)
        else:
            found.append(block)
            above = None if block.kind != "heading" else above
    return found


def _labels(pages: Sequence[_Page]) -> dict[int, str]:
    """Return the label of each page that is not its number: that the file states, or the number printed on it.

    Numbers are those of pages if most of them are equally far from the pages' own.
    """
    far = Counter(printed - page.number for page in pages for printed in page.printed)
    step, count = far.most_common(1)[0] if far else (0, 0)
    step = step if count >= max(_EDGE, len(pages) / 2) else 0
    labels = {page.number: page.label for page in pages}
    if not any(labels.values()):
        labels = {page.number: str(page.number + step) for page in pages if page.number + step in page.printed}
    return {number: label for number, label in labels.items() if label not in ("", str(number))}


def _noted(block: Block, notes: Sequence[str]) -> Iterator[Block]:
    """Yield a block, and behind it the notes that are marked in it."""
    marks = TOKEN.findall(block.text)
    yield replace(block, text=TOKEN.sub("", block.text)) if marks else block
    page = block.lines[-1] if block.lines else block.line
    for mark in marks:
        yield from numbered(read_plain(notes[int(mark)])[1], lambda line: page)


def _header(table: Table, above: tuple[Table, list[str]] | None) -> list[str]:
    """Return the names of the columns, and take them out of the rows. They may stand in the table above."""
    if above and above[1] and _are_alike(table.columns, above[0].columns):
        if table.rows[0] == above[1]:
            del table.rows[0]
        return above[1]
    captions = next((n for n, row in enumerate(table.rows) if sum(map(bool, row)) > 1), 0)
    first, *below = table.rows[captions:]
    if not are_names(first) or sum(map(bool, first)) <= len(first) / 2:
        names = spanning(first, below[0]) if len(below) > 1 else None
    elif len(below) > 1 and any(map(str.__eq__, filter(None, first), below[0])) and are_names(below[0]):
        names = [joined(*pair) for pair in zip(first, below[0], strict=True)]
    else:
        names, below = first, [first, *below]
    if not names:
        return []
    table.rows[captions:] = below[1:]
    return names


def _are_alike(one: Sequence[float], other: Sequence[float]) -> bool:
    return len(one) == len(other) and all(abs(a - b) < _SHIFT for a, b in zip(one, other, strict=True))


def _rows(table: Table, header: Sequence[str], page: int) -> list[Block]:
    blocks = Blocks()
    for cells in table.rows:
        blocks.row(header if sum(map(bool, cells)) > 1 else (), cells, page)
    if not table.rows:
        blocks.row((), header, page)
    return blocks.found


def _tesseract() -> str | None:
    return shutil.which("tesseract")


def _spent() -> float:
    """Return the seconds of processor time that tesseract took in this process."""
    times = os.times()
    return times.children_user + times.children_system


def _recognised(page: PdfPage) -> str:
    """Return the text that tesseract recognises in the picture of a page."""
    pixels = page.render(scale=_SCALE, grayscale=True).to_numpy()
    height, width = pixels.shape[:2]
    picture = b"P5 %d %d 255\n" % (width, height) + pixels.tobytes()
    found = subprocess.run(  # noqa: S603
        [_tesseract() or "", "stdin", "stdout"],
        input=picture,
        capture_output=True,
        check=False,
        env={**os.environ, "OMP_THREAD_LIMIT": "1"},
    )
    return str(found.stdout, "utf-8", "replace")
