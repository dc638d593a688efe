"""Read files of all formats as documents with title, blocks, id and source.

A jsonl, csv or tsv file gives one document per row, a pdf one per page, any other file one. Text is UTF-8, or UTF-16
or UTF-32 with a byte order mark. Invalid bytes are decoded as Windows-1252. HTML may declare its own charset.
"""

from __future__ import annotations

import codecs
import gzip
import io
import json
import math
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TextIO

from ..config.installation import install_hint
from ..kit.dates import iso_date
from ..sanitize import single_line
from . import html, markdown
from .blocks import Block, Unreadable, as_title, title_of
from .charsets import charset
from .html import read_html
from .markdown import read_markdown
from .plain import read_code, read_plain
from .roff import is_roff, read_roff
from .rst import read_rst
from .tables import LongLineError, read_csv, read_tsv

LIMIT = 200_000_000  # bytes
_PART = 1 << 20  # characters per document; a longer text file is split
_HEAD = 8192  # bytes that show whether a file is text
_LONGEST_ROW = 1 << 24  # characters in a line of jsonl
_LONGEST_WHY = 200  # characters of a parser's message


@dataclass(frozen=True, slots=True)
class Document:
    """Blocks to cut into passages. `id` is unique within the file. `source` is a path or URL to show.

    `date` is YYYY, YYYY-MM or YYYY-MM-DD, as the document states it.
    """

    title: str
    blocks: tuple[Block, ...]
    id: str
    source: str
    date: str = ""

    @property
    def text(self) -> str:
        """The text of all blocks."""
        return "\n\n".join(block.text for block in self.blocks)


@contextmanager
def unreadable_on_failure() -> Iterator[None]:
    """Raise Unreadable for any exception except OSError, so that one bad file does not stop the indexing."""
    try:
        yield
    except (OSError, Unreadable):
        raise
    except LongLineError as error:
        raise Unreadable(str(error)) from error
    except MemoryError as error:
        raise Unreadable("reading it needs too much memory") from error
    except Exception as error:
        why = f"{type(error).__name__}: {single_line(str(error))}".removesuffix(": ")
        raise Unreadable(f"reading it failed with {why[:_LONGEST_WHY]}") from error


Report = Callable[[str, str], None]
"""Called with the location of each skipped row (path:line or path:first-last), or the path, and the reason."""


def read(path: Path, report: Report, limit: int = LIMIT) -> Iterator[Document]:
    """Read the documents of the file at `path` in this process. Raises Unreadable or OSError.

    A file is unreadable if it has more than `limit` bytes when decompressed, or more than `limit` characters of text.
    """
    file = _File(path, limit)
    reader = _reader(file)
    if reader is None:
        raise Unreadable(NOT_TEXT)
    size = 0
    for document in reader(file, report):
        size += sum(len(block.text) for block in document.blocks)
        if size > limit:
            raise Unreadable(f"it has more than {limit / 1e6:,.0f} million characters of text")
        yield document


def risk(path: Path) -> float:
    """Return the size of a file in bytes, eight times that for complex markup, infinity for a packed format."""
    file = _File(path, LIMIT)
    try:
        reader, size = _reader(file), path.stat().st_size
    except (OSError, Unreadable):
        return math.inf
    if file.is_compressed or reader in (_pdf, _docx):
        return math.inf
    return size * 8 if reader in (_html, _rst, _man) else size


def is_readable(path: Path) -> bool:
    """Return whether `read` has a format for the file at `path`, by its suffix or its first bytes. Raises OSError."""
    try:
        return _reader(_File(path, LIMIT)) is not None
    except Unreadable:
        return False


def has_known_suffix(path: Path) -> bool:
    """Return whether the suffix of `path` is one of a format, or of source code."""
    suffix = _File(path, LIMIT).suffix
    return suffix in READERS or suffix in _CODE


class _File:
    """A file to read, which may be compressed. `suffix` and `stem` are without .gz.

    `limit` is the largest number of bytes when decompressed.
    """

    def __init__(self, path: Path, limit: int) -> None:
        self.path = path
        self.is_compressed = path.suffix.lower() == ".gz"
        name = Path(path.stem) if self.is_compressed else path
        self.suffix = name.suffix.lower()
        self.stem = name.stem if name.suffix[1:2].isalpha() else name.name  # Apache-2.0 has no suffix
        self.limit = limit

    def head(self) -> bytes:
        """Return the first bytes."""
        if not self.is_compressed:
            with self.path.open("rb") as stream:
                return stream.read(_HEAD)
        with _gunzipped(self.path) as stream:
            return stream.read(_HEAD)

    def open(self) -> IO[bytes]:
        if not self.is_compressed:
            return self.path.open("rb")
        with _gunzipped(self.path) as stream:
            content = stream.read(self.limit + 1)
        if len(content) > self.limit:
            raise Unreadable(f"it has more than {self.limit / 1e6:,.0f} MB when decompressed")
        return io.BytesIO(content)


@contextmanager
def _gunzipped(path: Path) -> Iterator[gzip.GzipFile]:
    try:
        with gzip.open(path) as stream:
            yield stream
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise Unreadable(f"it cannot be decompressed: {error}") from error


def _reader(file: _File) -> _Reader | None:
    """Return the function that reads `file`, None if it is not text."""
    if reader := READERS.get(file.suffix):
        return reader
    if file.suffix in _CODE:
        return _code
    head = file.head()
    if not _is_text(head):
        return None
    if _MAN.fullmatch(file.suffix) and is_roff(head.decode("utf-8", "replace").replace("\r\n", "\n")):
        return _man
    return _code if head.startswith(b"#!") else _plain


def _is_text(head: bytes) -> bool:
    """Return whether a file that begins with `head` is text: UTF-8, or plausibly Windows-1252."""
    if charset(head):  # a byte order mark
        return True
    if b"\0" in head:
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)  # the last character may be incomplete
        return not head.translate(None, _NOT_CONTROL)
    except UnicodeDecodeError:
        letters = sum(byte >= 0x80 for byte in head)
        return letters < len(head) / 3 and not head.translate(None, _NOT_CONTROL) and not _UNUSED & set(head)


def _decode_as_windows_1252(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error("robust_qa.windows_1252", _decode_as_windows_1252)


@contextmanager
def _open_text(file: _File, newline: str | None = None) -> Iterator[TextIO]:
    encoding, errors = _encoding(file.head())
    with io.TextIOWrapper(file.open(), encoding, errors, newline) as stream:
        yield stream


def _encoding(head: bytes, *, page: bool = False) -> tuple[str, str]:
    """Return the encoding of a file that begins with `head`, and the error handler for invalid bytes."""
    encoding = charset(head, page=page)
    if not encoding and b"\0" in head:
        raise Unreadable("it is binary, not text")
    if encoding.startswith("utf-8") or not encoding:
        return "utf-8-sig", "robust_qa.windows_1252"
    return encoding, "replace"


# -- plain text and its markups

_Blocks = Callable[[str, int], tuple[str, list[Block]]]


def _text(file: _File, read_blocks: _Blocks, date_in: Callable[[str], str] = lambda text: "") -> Iterator[Document]:
    path, title, date, line = str(file.path), "", "", 1
    with _open_text(file) as stream:
        for number, part in enumerate(_parts(stream)):
            named, blocks = read_blocks(part, line)
            title = title or named or title_of(blocks) or file.stem
            date = date if number else date_in(part)
            yield Document(title, tuple(blocks), f"{path}@{number}" if number else path, path, date)
            line += part.count("\n")


def _parts(stream: TextIO) -> Iterator[str]:
    """Split the text into parts of about `_PART` characters, between paragraphs, lines or words."""
    text = ""
    while chunk := stream.read(_PART):
        text += chunk
        if len(text) > _PART:
            ends = (text.rfind(mark, _PART // 2) for mark in ("\n\n", "\n", " ", "\t"))
            end = next((end for end in ends if end > 0), len(text))
            yield text[:end]
            text = text[end:]
    if text:
        yield text


def _plain(file: _File, report: Report) -> Iterator[Document]:
    return _text(file, read_plain)


def _markdown(file: _File, report: Report) -> Iterator[Document]:
    return _text(file, read_markdown, markdown.date_in)


def _rst(file: _File, report: Report) -> Iterator[Document]:
    return _text(file, read_rst)


def _code(file: _File, report: Report) -> Iterator[Document]:
    for document in _text(file, read_code):
        yield replace(document, title=file.path.name)


def _man(file: _File, report: Report) -> Iterator[Document]:
    return _text(file, read_roff)


def _html(file: _File, report: Report) -> Iterator[Document]:
    with file.open() as stream:
        page = _page(stream.read())
    yield replace(_whole(file, *read_html(page)), date=html.date_in(page))


def _page(body: bytes) -> str:
    if not body.isascii():
        with suppress(UnicodeDecodeError):  # pages saved as UTF-8 often still declare their old charset
            return body.decode("utf-8-sig")
    encoding, errors = _encoding(body, page=True)
    return body.decode(encoding, errors)


def _whole(file: _File, title: str, blocks: list[Block]) -> Document:
    return Document(title or title_of(blocks) or file.stem, tuple(blocks), str(file.path), str(file.path))


# -- binary formats


def _docx(file: _File, report: Report) -> Iterator[Document]:
    from .docx import read_docx

    try:
        with file.open() as stream:
            title, blocks, unread = read_docx(stream, file.limit)
        if unread:
            report(str(file.path), f"read incompletely: without its {', '.join(unread)}")
        yield _whole(file, title, blocks)
    except ModuleNotFoundError:
        raise Unreadable(f"reading docx files needs `{install_hint('docx')}`") from None
    except (OSError, MemoryError, Unreadable):
        raise
    except Exception as error:  # a damaged file raises errors of zipfile, lxml and python-docx
        raise Unreadable(f"python-docx cannot read it: {single_line(str(error))}") from error


def _pdf(file: _File, report: Report) -> Iterator[Document]:
    try:
        import pypdf
    except ModuleNotFoundError:
        raise Unreadable(f"reading pdf files needs `{install_hint('pdf')}`") from None
    import logging

    logging.getLogger("pypdf").setLevel(logging.ERROR)  # its warnings are harmless
    try:
        with file.open() as stream:
            document = pypdf.PdfReader(stream)
            title = as_title((document.metadata and document.metadata.title) or "") or file.stem
            pages = enumerate((_unbroken(page.extract_text()) for page in document.pages), start=1)
            for number, text in pages:
                place = f"{file.path}#page={number}"
                yield Document(title, _blocks(text), place, place)
    except (OSError, MemoryError, Unreadable):
        raise
    except Exception as error:  # pypdf raises many types for malformed files
        raise Unreadable(f"pypdf cannot read it: {error}") from error


def _blocks(text: str) -> tuple[Block, ...]:
    """Return the blocks of text that has no format."""
    return tuple(replace(block, line=0) for block in read_plain(text)[1])


# Compound words lose their hyphen here too, but far more words are hyphenated to fill the line.
_BROKEN = re.compile(r"(?<=[^\W\d_])[-\u2010][ \t]*\n[ \t]*(?=([^\W\d_]))")


def _unbroken(text: str) -> str:
    """Join words that are hyphenated at the end of a line."""
    return _BROKEN.sub(lambda end: "" if end[1].islower() else end[0], text)


# -- rows

# Column names of DPR and of rqa, then those of BEIR and Pyserini.
_NAMES = {
    "text": ("text", "contents"),
    "title": ("title",),
    "id": ("id", "_id", "docid"),
    "source": ("url", "source"),
    "date": ("date",),
}


def _row(fields: Mapping[str, object], path: Path, line: int) -> Document:
    """Return a row as a document. Raises ValueError if the row is invalid."""
    found: dict[str, str] = {}
    for field, names in _NAMES.items():
        value = next((fields[name] for name in names if fields.get(name) not in (None, "")), "")
        if not isinstance(value, str | int | float):
            raise ValueError(f"its {field} is not a string")
        found[field] = str(value)
    if not found["text"].strip():
        raise ValueError("it has no text")
    source = found["source"]
    if not source.startswith(("http://", "https://")):  # a row must not pretend to be another file
        source = f"{path}: {source}" if source else str(path)
    id, date = found["id"] or f"{path}:{line}", iso_date(found["date"])
    return Document(as_title(found["title"]), _blocks(found["text"]), id, source, date)


def _jsonl(file: _File, report: Report) -> Iterator[Document]:
    path = file.path
    with _open_text(file) as stream:
        lines = iter(lambda: stream.readline(_LONGEST_ROW), "")
        for number, line in enumerate(lines, start=1):
            if line.isspace():
                continue
            try:
                value = json.loads(line)
                if not isinstance(value, dict):
                    raise ValueError("it is not a JSON object")
                yield _row(value, path, number)
            except (json.JSONDecodeError, RecursionError) as error:
                report(f"{path}:{number}", f"it is not JSON: {error}")
            except ValueError as error:
                report(f"{path}:{number}", str(error))


def _table(file: _File, report: Report) -> Iterator[Document]:
    path = file.path
    with _open_text(file, newline="") as stream:
        rows = read_tsv(stream) if file.suffix == ".tsv" else read_csv(stream)
        first = next(rows, None)
        header = [name.strip().lower() for name in first.cells] if first else []
        if not set(header) & set(_NAMES["text"]):
            raise Unreadable("its first line has no column `text`")
        for row in rows:
            try:
                if row.wrong:
                    raise ValueError(row.wrong)
                if len(row.cells) != len(header):
                    raise ValueError(f"it has {len(row.cells)} columns, but the first line has {len(header)}")
                yield _row(dict(zip(header, row.cells, strict=True)), path, row.last)
            except ValueError as error:
                report(f"{path}:{row.lines}", str(error))


_Reader = Callable[[_File, Report], Iterator[Document]]

READERS: dict[str, _Reader] = {
    ".txt": _plain,
    ".text": _plain,
    ".md": _markdown,
    ".markdown": _markdown,
    ".rst": _rst,
    ".html": _html,
    ".htm": _html,
    ".xhtml": _html,
    ".jsonl": _jsonl,
    ".ndjson": _jsonl,
    ".csv": _table,
    ".tsv": _table,
    ".pdf": _pdf,
    ".docx": _docx,
}
_CODE = frozenset(
    """.bash .c .cc .cfg .clj .conf .cpp .cs .css .el .erl .ex .go .h .hpp .hs .ini .java .jl .js .json .jsx .kt .lua .m
    .ml .php .pl .properties .ps1 .py .pyi .r .rb .rs .scala .scss .sh .sql .swift .tf .toml .ts .tsx .vue .xml .yaml
    .yml .zsh""".split()
)
_MAN = re.compile(r"\.[1-9][a-z]*")
_NOT_CONTROL = bytes(byte for byte in range(256) if byte >= 32 or byte in b"\a\b\t\n\f\r\x1b")
_UNUSED = frozenset((0x81, 0x8D, 0x8F, 0x90, 0x9D))  # bytes that Windows-1252 does not use
NOT_TEXT = "it is neither text nor a supported format"
