"""Read the pages of PDF files, with the library pypdfium2, and pages that are pictures with tesseract."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .blocks import Block, Unreadable, unlined
from .document import Document, File, Report
from .plain import read_plain

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage

_SECONDS = 20.0  # of processor time for the pictures of one file
_SCALE = 200 / 72  # points to the 200 dots per inch at which tesseract reads print well


def read_pdf(file: File, report: Report) -> Iterator[Document]:
    """Yield a document for each page. Reports the pages that have no text."""
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
    title = pdf.get_metadata_value("Title").removeprefix("Microsoft Word - ") or file.stem
    pictures: list[int] = []
    most = _spent() + _SECONDS
    for number in range(1, len(pdf) + 1):
        blocks = _page(pdf, number, most)
        if blocks:
            yield file.document(title, blocks, part=f"page={number}", place=f"page {number}")
        elif blocks is None:
            pictures.append(number)
    if pictures:
        pages = "page" if len(pictures) == 1 else "pages"
        numbers = ", ".join(map(str, pictures[:20])) + (", …" if len(pictures) > 20 else "")
        why = "tesseract found no text in the time it has" if _tesseract() else "install tesseract to read pictures"
        report(str(file.path), f"read without {pages} {numbers}, pictures without text: {why}")


def _page(pdf: PdfDocument, number: int, most: float) -> list[Block] | None:
    """Return the blocks of a page, None for a picture that was not read. Reads them while `_spent` is below `most`."""
    page = pdf[number - 1]
    try:
        text = page.get_textpage().get_text_range().replace("\r\n", "\n")
        if not text.strip():
            if next(page.get_objects(max_depth=2), None) is None:
                return []
            if not _tesseract() or _spent() > most:
                return None
            text = _recognised(page)
            if not text.strip():
                return None
        text = re.sub(r"[\x02\ufffe]\s*", "-\n", text)  # pdfium's mark of a hyphen at a line's end
        return unlined(read_plain(text)[1])
    finally:
        page.close()


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
