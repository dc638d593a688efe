"""Read the notes of PowerPoint slides, and which slides are hidden."""

from __future__ import annotations

import io
import posixpath
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from xml.etree import ElementTree

_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_SLIDE = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


def notes_of(content: bytes) -> list[tuple[str, bool]]:
    """Return the notes of each slide in the order of the slides, and whether the slide is hidden."""
    found: list[tuple[str, bool]] = []
    with zipfile.ZipFile(io.BytesIO(content)) as archive, suppress(KeyError, ElementTree.ParseError):
        shown = ElementTree.fromstring(archive.read("ppt/presentation.xml"))  # noqa: S314 - in a worker with limits
        slides = _related(archive, "ppt/presentation.xml")
        for each in shown.iter(f"{_SLIDE}sldId"):
            name = slides[each.get(_ID, "")]
            slide = ElementTree.fromstring(archive.read(name))  # noqa: S314
            notes = [other for other in _related(archive, name).values() if "/notesSlides/" in other]
            texts = [text for other in notes for text in _texts(archive.read(other))]
            found.append(("\n\n".join(texts), slide.get("show") in ("0", "false")))
    return found


def _related(archive: zipfile.ZipFile, name: str) -> dict[str, str]:
    """Return the files that a file names, by their ids."""
    folder, base = posixpath.split(name)
    links = f"{folder}/_rels/{base}.rels"
    if links not in archive.namelist():
        return {}
    root = ElementTree.fromstring(archive.read(links))  # noqa: S314
    return {
        each.get("Id", ""): posixpath.normpath(posixpath.join(folder, each.get("Target", ""))).lstrip("/")
        for each in root
    }


def _texts(notes: bytes) -> Iterator[str]:
    """Yield the paragraphs of notes, without the numbers and dates beside them."""
    for shape in ElementTree.fromstring(notes).iter(f"{_SLIDE}sp"):  # noqa: S314
        kinds = [each.get("type") for each in shape.iter(f"{_SLIDE}ph")]
        for paragraph in shape.iter(f"{_DRAWING}p") if "body" in kinds else ():
            yield "".join(text.text or "" for text in paragraph.iter(f"{_DRAWING}t"))
