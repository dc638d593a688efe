"""Read word processor files, slides, books and other formats, with the library xberg.

It turns them into Markdown, with each paragraph, item and row on a line of its own.
"""

from __future__ import annotations

import asyncio
import io
import re
import zipfile
from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import Any

from ..sanitize import single_line
from .blocks import Unreadable, numbered, unlined
from .document import Document, File, Report, report_left_out
from .markdown import read_markdown
from .markup import plain_latex, plain_org
from .plain import read_plain

_OFFICE = "application/vnd.openxmlformats-officedocument"
_OPEN = "application/vnd.oasis.opendocument"
TYPES = {
    "docx": f"{_OFFICE}.wordprocessingml.document",
    "pptx": f"{_OFFICE}.presentationml.presentation",
    "doc": "application/msword",
    "ppt": "application/vnd.ms-powerpoint",
    "msg": "application/vnd.ms-outlook",
    "odt": f"{_OPEN}.text",
    "odp": f"{_OPEN}.presentation",
    "ods": f"{_OPEN}.spreadsheet",
    "xls": "application/vnd.ms-excel",
    "xlsb": "application/vnd.ms-excel.sheet.binary.macroEnabled.12",
    "epub": "application/epub+zip",
    "rtf": "application/rtf",
    "fictionbook": "application/x-fictionbook+xml",
    "asciidoc": "text/asciidoc",
    "org": "text/org",
    "latex": "application/x-latex",
}
_MARKUP = ("asciidoc", "latex", "org")
_PREPARED = {"latex": plain_latex, "org": plain_org}
_SLIDES = ("odp", "ppt", "pptx")
_SHEETS = ("ods", "xls", "xlsb")
_FOOTNOTE = re.compile(r"\[\^[\w-]{1,20}\](:\s*)?")
_PROPERTY = re.compile(r"^\*\*(\w+)\*\*: *(.*)$", re.M)  # of a document in org or LaTeX
_UNCLOSED = re.compile(r"\*\*([^*\n]+)\n+\*\*$", re.M)  # bold text that ends in another paragraph
_PARAGRAPH = re.compile(r"(?=.*\S)(?![ |:-]+\Z)")  # a line that is neither blank nor the rule below a header
_SLIDE = re.compile(r"^-----$", re.M)
_COMMENTS = "word/comments.xml"
_BODY = "word/document.xml"
_HIDDEN_RUN = re.compile(
    r"<w:r(?: [^>]*)?>(?:(?!</?w:r[ >]).)*?<w:vanish(?: w:val=\"(?:1|true|on)\")?/>(?:(?!<w:r[ >]).)*?</w:r>", re.S
)
_UNREAD = {"/charts/": "charts", "/diagrams/": "diagrams", "/embeddings/": "embedded files"}


def read_office(file: File, format: str, report: Report) -> Iterator[Document]:
    """Yield the document of a file of `format`, a key of TYPES, or one for each of its slides."""
    with file.open() as stream:
        content = stream.read()
    if format in _MARKUP:
        text = file.text(content)
        content = _PREPARED.get(format, str)(text).encode()
    left_out: list[str] = []
    if content.startswith(b"PK"):
        _check(content, file, report)
    if format == "docx":
        content = _without_hidden(content, left_out)
    extracted = _extract(content, TYPES[format], file)
    title, text = extracted.metadata.title or "", _FOOTNOTE.sub("", extracted.content)
    text = _UNCLOSED.sub(r"\1\n", text)
    if format in ("latex", "org"):
        properties = {name.lower(): value for name, value in _PROPERTY.findall(text)}
        title, text = title or properties.get("title", ""), _PROPERTY.sub("", text)
    if format in _MARKUP and not text.strip():
        yield file.document(title, read_plain(content.decode())[1])
        return
    if format in _SHEETS:
        yield from _sheets(file, text)
        return
    if format not in _SLIDES:
        blocks = read_markdown(text, left_out=left_out)[1]
        paragraphs = [*accumulate((bool(_PARAGRAPH.match(line)) for line in text.split("\n")), initial=0)]
        is_counted = format not in _MARKUP
        blocks = numbered(blocks, paragraphs.__getitem__) if is_counted else unlined(blocks)
        yield file.document(title, blocks, place="paragraph" if is_counted else "")
        report_left_out(file, left_out, report)
        return
    slides = [_UNCLOSED.sub(r"\1\n", page.content) for page in extracted.pages or ()] or _SLIDE.split(text)[1:]
    for number, slide in enumerate(slides, start=1):
        blocks = unlined(read_markdown(slide)[1])
        yield file.document(title, blocks, part=f"slide={number}", place=f"slide {number}")


def _without_hidden(content: bytes, left_out: list[str]) -> bytes:
    """Return a Word file without its hidden runs of text."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if _BODY not in archive.namelist() or b"<w:vanish" not in (body := archive.read(_BODY)):
            return content
        text = body.decode()
        left_out += [re.sub("<[^>]*>", "", run) for run in _HIDDEN_RUN.findall(text)]
        seen = _HIDDEN_RUN.sub("", text)
        written = io.BytesIO()
        with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as copy:
            for member in archive.infolist():
                copy.writestr(member, seen if member.filename == _BODY else archive.read(member))
    return written.getvalue()


def _sheets(file: File, text: str) -> Iterator[Document]:
    """Yield a document for each sheet. A heading names it."""
    blocks = unlined(read_markdown(text)[1])
    starts = [i for i, block in enumerate(blocks) if block.kind == "heading"]
    for start, end in pairwise([*starts, len(blocks)]):
        sheet = blocks[start].text
        title = f"{file.stem} > {sheet}" if len(starts) > 1 else file.stem
        yield file.document(title, blocks[start + 1 : end], part=sheet, place=sheet)


def _check(content: bytes, file: File, report: Report) -> None:
    """Report what xberg does not read. Raises Unreadable if the file is too large when decompressed."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except zipfile.BadZipFile as error:
        raise Unreadable(f"it is damaged: {error}") from error
    with archive:
        file.check_size(sum(member.file_size for member in archive.infolist()))
        names = archive.namelist()
        unread = [kind for part, kind in _UNREAD.items() if any(part in name for name in names)]
        if _COMMENTS in names and b"<w:comment " in archive.read(_COMMENTS):  # pandoc writes an empty one
            unread.append("comments")
    if unread:
        report(str(file.path), f"read incompletely: without its {', '.join(unread)}")


def _extract(content: bytes, type: str, file: File) -> Any:
    import xberg

    config = xberg.ExtractionConfig(
        mime_detection_policy=xberg.MimeDetectionPolicy.TRUST_EXTENSION,
        use_cache=False,
        enable_quality_processing=False,
        disable_ocr=True,
        output_format="markdown",
        tree_sitter=xberg.TreeSitterConfig(enabled=False),  # it would download grammars
        pages=xberg.PageConfig(extract_pages=True),
        security_limits=xberg.SecurityLimits(
            max_archive_size=file.limit,
            max_compression_ratio=file.limit,  # honest tables have 200:1, and the size is limited anyway
            max_content_size=file.limit,
            max_table_cells=2_000_000,
        ),
    )
    source = xberg.ExtractInput(kind="bytes", bytes=content, mime_type=type)
    try:
        result = asyncio.run(xberg.extract(source, config))
    except RuntimeError as error:
        raise Unreadable(f"it cannot be read: {single_line(str(error))}") from error
    if not result.results:
        raise Unreadable(f"it cannot be read: {single_line('; '.join(str(each.message) for each in result.errors))}")
    return result.results[0]
