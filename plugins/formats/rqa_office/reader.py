"""Read word processor files, slides, books and other formats, with the library xberg.

It turns them into Markdown, with each paragraph, item and row on a line of its own.
"""

from __future__ import annotations

import asyncio
import io
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate, zip_longest
from typing import Any
from unicodedata import normalize

from robust_qa.kit import single_line
from rqa_files import (
    Block,
    Document,
    File,
    Report,
    Row,
    Unreadable,
    numbered,
    read_markdown,
    read_plain,
    read_table,
    report_hidden,
    report_left_out,
    unlined,
)

from .kinds import kind_of
from .markup import headed_rtf, plain_latex, plain_org
from .opendocument import sheets_of, slides_of
from .powerpoint import notes_of

_OFFICE = "application/vnd.openxmlformats-officedocument"
_OPEN = "application/vnd.oasis.opendocument"
TYPES = {
    "docx": f"{_OFFICE}.wordprocessingml.document",
    "pptx": f"{_OFFICE}.presentationml.presentation",
    "doc": "application/msword",
    "ppt": "application/vnd.ms-powerpoint",
    "msg": "application/vnd.ms-outlook",
    "odt": f"{_OPEN}.text",
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
_SLIDES = ("ppt", "pptx")
_SHEETS = ("xls", "xlsb")
_SHEET = re.compile(r"^## (.*)$", re.M)
_FOOTNOTE = re.compile(r"\[\^[\w-]{1,20}\](:\s*)?")
_COMMENT = re.compile(r"\[cmt:\d{1,6}\]|^\[\^cmt\d{1,6}\]:.*\n(?:(?: .*)?\n)*", re.M)  # its mark, and its text
_PROTECTED = "it is protected by a password; save a copy without one to read it"
_MANIFEST = "META-INF/manifest.xml"  # of OpenDocument
_COMMENTS = "word/comments.xml"
_PROPERTY = re.compile(r"^\*\*(\w+)\*\*: *(.*)$", re.M)  # of a document in org or LaTeX
_UNCLOSED = re.compile(r"\*\*([^*\n]+)\n+\*\*$", re.M)  # bold text that ends in another paragraph
_BOLD = re.compile(r"(?<!\*)\*\*(?!\*)([^*\n]+)\*\*(?!\*)")
_TITLED = re.compile(r'<style:style style:name="([^"]+)"[^<>]* style:parent-style-name="Title"')  # of OpenDocument
_STYLED = re.compile(r'<text:p text:style-name="([^"]+)">((?:(?!</?text:p[ >]).)*)</text:p>', re.S)
_PARAGRAPH = re.compile(r"(?=.*\S)(?![ |:-]+\Z)")  # a line that is neither blank nor the rule below a header
_SLIDE = re.compile(r"^-----$", re.M)
_BODY = "word/document.xml"
_TEXTS = (".xml", ".xhtml", ".html", ".htm")  # of the members of a zipped file
_HIDDEN_RUN = re.compile(
    r"<w:r(?: [^<>]*)?>(?>(?:(?!</?w:r[ >]).)*?<w:vanish(?: w:val=\"(?:1|true|on)\")?/>)(?:(?!<w:r[ >]).)*?</w:r>", re.S
)
_TABLE = re.compile(r"<w:tbl>(?:(?!<w:tbl>).)*?</w:tbl>", re.S)  # without tables inside
_ROW = re.compile(r"<w:tr[ >].*?</w:tr>", re.S)
_CELL = re.compile(r"(<w:tc(?: [^<>]*)?>(?:<w:tcPr>.*?</w:tcPr>)?)(.*?)</w:tc>", re.S)
_SPAN = re.compile(r'<w:gridSpan w:val="(\d{1,3})"')
_MERGED = re.compile(r'<w:vMerge(?: w:val="(\w+)")?/>')
_UNREAD = {
    "/ppt/comments/": "comments",
    "/charts/": "charts",
    "/diagrams/": "diagrams",
    "/embeddings/": "embedded files",
}


def read_office(file: File, report: Report) -> Iterator[Document]:
    """Yield the document of a file, or one for each of its slides or sheets. Raises Unreadable."""
    format = kind_of(file)
    if format == "encrypted":
        raise Unreadable(_PROTECTED)
    with file.open() as stream:
        content = stream.read()
    if format in _MARKUP:
        text = file.text(content)
        content = normalize("NFC", _PREPARED.get(format, str)(text)).encode()
    left_out: list[str] = []
    if content.startswith(b"PK"):
        _check(content, file, report)
        if format in _OPENED:
            yield from _OPENED[format](file, content, report)
            return
        content = _rewritten(content, left_out)
    if format == "rtf":
        content = headed_rtf(content)
    extracted = _extract(content, TYPES[format], file)
    title, text = extracted.metadata.title or "", _FOOTNOTE.sub("", _COMMENT.sub("", f"{extracted.content}\n"))
    text = _closed(text)
    if format in ("latex", "org"):
        properties = {name.lower(): value for name, value in _PROPERTY.findall(text)}
        title, text = title or properties.get("title", ""), _PROPERTY.sub("", text)
    if format in _MARKUP and not text.strip():
        yield file.document(title, read_plain(content.decode())[1])
        return
    if format in _SHEETS:
        yield from _sheets(file, extracted, report)
        return
    if format not in _SLIDES:
        blocks = read_markdown(text, left_out=left_out)[1]
        paragraphs = [*accumulate((bool(_PARAGRAPH.match(line)) for line in text.split("\n")), initial=0)]
        is_counted = format not in _MARKUP
        blocks = numbered(blocks, paragraphs.__getitem__) if is_counted else unlined(blocks)
        yield file.document(title, blocks, place="paragraph" if is_counted else "")
        report_left_out(file, left_out, report)
        return
    slides = [_closed(page.content) for page in extracted.pages or ()] or _SLIDE.split(text)[1:]
    more = notes_of(content) if format == "pptx" else []
    pairs = zip_longest(slides, more, fillvalue=("", False))
    found = [(unlined(read_markdown(f"{slide}\n\n{notes}")[1]), hidden) for slide, (notes, hidden) in pairs]
    yield from _slides(file, title, found, report)


def _closed(text: str) -> str:
    """Return Markdown in which no space is between bold text and its marks, which would be text then."""

    def moved(bold: re.Match[str]) -> str:
        inner = bold[1].strip()
        return bold[0] if inner == bold[1] else bold[1].replace(inner, f"**{inner}**", 1) if inner else " "

    return _BOLD.sub(moved, _UNCLOSED.sub(r"\1\n", text))


def _titled(text: str) -> str:
    """Return the content of an OpenDocument text in which its title is a heading, as it is in Word."""
    names = {"Title", *_TITLED.findall(text)}

    def heading(found: re.Match[str]) -> str:
        return f'<text:h text:outline-level="1">{found[2]}</text:h>' if found[1] in names else found[0]

    return _STYLED.sub(heading, text)


def _rewritten(content: bytes, left_out: list[str]) -> bytes:
    """Return a zipped file without hidden runs of Word, and in composed form: of other text xberg loses the layout."""
    changed: dict[str, str] = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in archive.namelist():
            if not name.endswith(_TEXTS):
                continue
            with suppress(UnicodeDecodeError, zipfile.BadZipFile, zlib.error):  # xberg may read the rest
                text = archive.read(name).decode()
                seen = text
                if name == _BODY and "<w:vanish" in text:
                    left_out += [re.sub("<[^<>]*>", "", run) for run in _HIDDEN_RUN.findall(text)]
                    seen = _HIDDEN_RUN.sub("", text)
                if name == _BODY and "<w:vMerge" in text:
                    seen = _TABLE.sub(_unmerged, seen)
                if name == "content.xml" and '"Title"' in text:
                    seen = _titled(seen)
                if (seen := normalize("NFC", seen)) != text:
                    changed[name] = seen
        if not changed:
            return content
        written = io.BytesIO()
        with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as copy:
            for member in archive.infolist():
                copy.writestr(member, changed.get(member.filename) or archive.read(member))
    return written.getvalue()


def _unmerged(table: re.Match[str]) -> str:
    """Return a table of Word with the text of a merged cell in each of its rows, as sheets are read."""
    above: dict[int, str] = {}  # by column
    column = 0

    def filled(cell: re.Match[str]) -> str:
        nonlocal column
        at, span, merged = column, _SPAN.search(cell[1]), _MERGED.search(cell[1])
        column += int(span[1]) if span else 1
        above[at] = above.get(at, cell[2]) if merged and merged[1] != "restart" else cell[2]
        return f"{_MERGED.sub('', cell[1])}{above[at]}</w:tc>"

    def row(found: re.Match[str]) -> str:
        nonlocal column
        column = 0
        return _CELL.sub(filled, found[0])

    return _ROW.sub(row, table[0])


def _slides(file: File, title: str, slides: Iterable[tuple[list[Block], bool]], report: Report) -> Iterator[Document]:
    """Yield a document for each slide, and report which are hidden."""
    hidden = []
    for number, (blocks, is_hidden) in enumerate(slides, start=1):
        hidden += [number] if is_hidden else []
        yield file.document(title, blocks, part=f"slide={number}", place=f"slide {number}")
    if hidden:
        report(str(file.path), f"read with {len(hidden):,} hidden slide{'s' * (len(hidden) > 1)}: {hidden[0]}")


def _sheets(file: File, extracted: Any, report: Report) -> Iterator[Document]:
    """Yield the tables of the sheets. Where they begin is not known, so their rows have no numbers."""
    names = _SHEET.findall(extracted.content)
    for table in extracted.tables:
        name = names[table.page_number - 1] if table.page_number <= len(names) else ""
        rows = (Row(cells, n, n) for n, cells in enumerate(table.cells, start=1))
        title = f"{file.stem} > {name}" if len(names) > 1 else file.stem
        for document in read_table(file, title, rows, report, name, numbered=False):
            yield replace(document, blocks=(*unlined(document.blocks),))


def _open_sheets(file: File, content: bytes, report: Report) -> Iterator[Document]:
    sheets = [*sheets_of(content)]
    seen = [sheet for sheet in sheets if not sheet.is_hidden]
    report_hidden(file, report, sheets=[sheet.name for sheet in sheets if sheet.is_hidden])
    for sheet in seen:
        title = f"{file.stem} > {sheet.name}" if len(sheets) > 1 else file.stem
        yield from read_table(file, title, sheet.rows, report, sheet.name)
        report_hidden(file, report, sheet.name, rows=sheet.folded, columns=sheet.columns)


_OPENED: dict[str, Callable[[File, bytes, Report], Iterator[Document]]] = {
    "ods": _open_sheets,
    "odp": lambda file, content, report: _slides(file, "", slides_of(content), report),
}


def _check(content: bytes, file: File, report: Report) -> None:
    """Report what xberg does not read. Raises Unreadable if the file is too large when decompressed."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except zipfile.BadZipFile as error:
        raise Unreadable(f"it is damaged: {error}") from error
    with archive:
        file.check_size(sum(member.file_size for member in archive.infolist()))
        names = archive.namelist()
        if _MANIFEST in names and b":encryption-data" in archive.read(_MANIFEST):
            raise Unreadable(_PROTECTED)
        unread = [kind for part, kind in _UNREAD.items() if any(part in f"/{name}" for name in names)]
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
