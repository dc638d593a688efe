"""Read files of all formats as documents with text, title, id and source.

A jsonl, csv or tsv file gives one document per row, a pdf one per page, any other file one. Text is UTF-8, or UTF-16
or UTF-32 with a byte order mark. Invalid bytes are decoded as Windows-1252. HTML may declare its own charset.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from ..config.installation import install_hint
from ..sanitize import single_line
from .charsets import charset
from .headings import Heading, as_title, front_matter, of_markdown, of_rst, shown
from .tables import LongLineError, read_csv, read_tsv

_BLOCK = 1 << 20  # characters per document; a longer text file is split
_LONGEST_ROW = 1 << 24  # characters in a line of jsonl
_LONGEST_WHY = 200  # characters of a parser's message


@dataclass(frozen=True, slots=True)
class Document:
    """Text to cut into passages. `id` is unique within the file. `source` is a path or URL to show."""

    text: str
    title: str
    id: str
    source: str
    headings: tuple[Heading, ...] = ()


class Unreadable(Exception):
    """The file cannot be read. The message is the reason, to follow the path."""


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
        raise Unreadable("it does not fit in memory") from error
    except Exception as error:
        why = f"{type(error).__name__}: {single_line(str(error))}".removesuffix(": ")
        raise Unreadable(f"reading it failed with {why[:_LONGEST_WHY]}") from error


Report = Callable[[str, str], None]
"""Called for each skipped row with its location (path:line or path:first-last) and the reason."""


def read(path: Path, report: Report) -> Iterator[Document]:
    """Read the documents of the file at `path`. Raises Unreadable or OSError."""
    yield from READERS[path.suffix.lower()](path, report)


def _decode_as_windows_1252(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error("robust_qa.windows_1252", _decode_as_windows_1252)


@contextmanager
def _open_text(path: Path, newline: str | None = None) -> Iterator[TextIO]:
    with path.open("rb") as file:
        encoding, errors = _encoding(file.read(8192))
    with path.open(encoding=encoding, errors=errors, newline=newline) as stream:
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

_HEADINGS = {".md": of_markdown, ".markdown": of_markdown, ".rst": of_rst}


def _text(path: Path, report: Report) -> Iterator[Document]:
    find = _HEADINGS.get(path.suffix.lower())
    title = ""
    with _open_text(path) as stream:
        for number, block in enumerate(_blocks(stream)):
            begin = 0
            if number == 0 and find is of_markdown:
                begin, title = front_matter(block)
            text = shown(block[begin:]) if find is of_markdown else block
            headings = tuple(find(text)) if find else ()
            title = title or (headings[0].title if headings else path.stem)
            yield Document(text, title, f"{path}@{number}" if number else str(path), str(path), headings)


def _blocks(stream: TextIO) -> Iterator[str]:
    """Split the text into blocks of about `_BLOCK` characters, between paragraphs, lines or words."""
    text = ""
    while chunk := stream.read(_BLOCK):
        text += chunk
        if len(text) > _BLOCK:
            ends = (text.rfind(mark, _BLOCK // 2) for mark in ("\n\n", "\n", " ", "\t"))
            end = next((end for end in ends if end > 0), len(text))
            yield text[:end]
            text = text[end:]
    if text:
        yield text


def _html(path: Path, report: Report) -> Iterator[Document]:
    from .markup import extract

    title, text, headings = extract(_page(path.read_bytes()))
    yield Document(text, as_title(title) or path.stem, str(path), str(path), headings)


def _page(body: bytes) -> str:
    if not body.isascii():
        with suppress(UnicodeDecodeError):  # pages saved as UTF-8 often still declare their old charset
            return body.decode("utf-8-sig")
    encoding, errors = _encoding(body, page=True)
    return body.decode(encoding, errors)


def _pdf(path: Path, report: Report) -> Iterator[Document]:
    try:
        import pypdf
    except ModuleNotFoundError:
        raise Unreadable(f"reading pdf files needs `{install_hint('pdf')}`") from None
    import logging

    logging.getLogger("pypdf").setLevel(logging.ERROR)  # its warnings are harmless
    try:
        document = pypdf.PdfReader(path)
        title = as_title((document.metadata and document.metadata.title) or "") or path.stem
        pages = enumerate((_unbroken(page.extract_text()) for page in document.pages), start=1)
        for number, text in pages:
            yield Document(text, title, f"{path}#page={number}", f"{path}#page={number}")
    except OSError:
        raise
    except Exception as error:  # pypdf raises many types for malformed files
        raise Unreadable(f"pypdf cannot read it: {error}") from error


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
    return Document(found["text"], as_title(found["title"]), found["id"] or f"{path}:{line}", source)


def _jsonl(path: Path, report: Report) -> Iterator[Document]:
    with _open_text(path) as stream:
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


def _table(path: Path, report: Report) -> Iterator[Document]:
    with _open_text(path, newline="") as stream:
        rows = read_tsv(stream) if path.suffix.lower() == ".tsv" else read_csv(stream)
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


READERS: dict[str, Callable[[Path, Report], Iterator[Document]]] = {
    ".txt": _text,
    ".text": _text,
    ".md": _text,
    ".markdown": _text,
    ".rst": _text,
    ".html": _html,
    ".htm": _html,
    ".jsonl": _jsonl,
    ".ndjson": _jsonl,
    ".csv": _table,
    ".tsv": _table,
    ".pdf": _pdf,
}
