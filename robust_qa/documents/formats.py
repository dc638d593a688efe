"""From files to documents: text, title, id and source, whatever the format.

A file that is a list of rows (jsonl, csv, tsv) gives one document a row, read as a stream; a pdf gives one a
page; any other file gives one. Text is UTF-8, or UTF-16 or UTF-32 with a byte order mark; bytes that are not are
taken for Windows-1252, the superset of Latin-1, each for itself, so that one bad byte spoils nothing else. A page of
HTML that is not UTF-8 may say what it is.
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
from ..sanitize import flat
from .charsets import charset
from .headings import Heading, as_title, front_matter, of_markdown, of_rst, shown
from .tables import LongLineError, read_csv, read_tsv

_BLOCK = 1 << 20  # characters of a text file that make one document; a longer file gives several
_LONGEST_ROW = 1 << 24  # characters in a line of jsonl
_LONGEST_WHY = 200  # characters of a parser's message


@dataclass(frozen=True, slots=True)
class Document:
    """Text to be cut into passages. `id` is unique within the file; `source` is a path or URL for people."""

    text: str
    title: str
    id: str
    source: str
    headings: tuple[Heading, ...] = ()


class Unreadable(Exception):
    """The file cannot be read as what its name says; the message says why, to follow the path."""


@contextmanager
def unreadable_on_failure() -> Iterator[None]:
    """Raise Unreadable for whatever fails inside but OSError: one odd file must not end the indexing of a folder."""
    try:
        yield
    except (OSError, Unreadable):
        raise
    except LongLineError as error:
        raise Unreadable(str(error)) from error
    except MemoryError as error:
        raise Unreadable("reading it needs more memory than there is") from error
    except Exception as error:
        why = f"{type(error).__name__}: {flat(str(error))}".removesuffix(": ")
        raise Unreadable(f"reading it failed with {why[:_LONGEST_WHY]}") from error


Report = Callable[[str, str], None]
"""Told of each row left out: where (path:line, or path:first-last), and why."""


def read(path: Path, report: Report) -> Iterator[Document]:
    """The documents of the file at `path`. Raises Unreadable, and OSError."""
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
    """How a file is encoded that begins with `head`, and what becomes of bytes that do not fit."""
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
    """The text in parts of at most about `_BLOCK` characters, cut between paragraphs, lines or words."""
    held = ""
    while fresh := stream.read(_BLOCK):
        held += fresh
        if len(held) > _BLOCK:
            ends = (held.rfind(mark, _BLOCK // 2) for mark in ("\n\n", "\n", " ", "\t"))
            end = next((end for end in ends if end > 0), len(held))
            yield held[:end]
            held = held[end:]
    if held:
        yield held


def _html(path: Path, report: Report) -> Iterator[Document]:
    from .markup import extract

    title, text, headings = extract(_page(path.read_bytes()))
    yield Document(text, as_title(title) or path.stem, str(path), str(path), headings)


def _page(body: bytes) -> str:
    if not body.isascii():
        with suppress(UnicodeDecodeError):  # many a page was saved as UTF-8 and still names what it was before
            return body.decode("utf-8-sig")
    encoding, errors = _encoding(body, page=True)
    return body.decode(encoding, errors)


def _pdf(path: Path, report: Report) -> Iterator[Document]:
    try:
        import pypdf
    except ModuleNotFoundError:
        raise Unreadable(f"reading pdf needs `{install_hint('pdf')}`") from None
    import logging

    logging.getLogger("pypdf").setLevel(logging.ERROR)  # it warns of every oddity that it then copes with
    try:
        document = pypdf.PdfReader(path)
        title = as_title((document.metadata and document.metadata.title) or "") or path.stem
        pages = enumerate((_unbroken(page.extract_text()) for page in document.pages), start=1)
        for number, text in pages:
            yield Document(text, title, f"{path}#page={number}", f"{path}#page={number}")
    except OSError:
        raise
    except Exception as error:  # pypdf raises whatever a malformed file leads it to
        raise Unreadable(f"pypdf cannot read it: {error}") from error


# A word of two that has its own hyphen there loses it; far more are broken to fill the line.
_BROKEN = re.compile(r"(?<=[^\W\d_])[-\u2010][ \t]*\n[ \t]*(?=([^\W\d_]))")


def _unbroken(text: str) -> str:
    """`text` without the hyphens at the ends of its lines, where a small letter goes on."""
    return _BROKEN.sub(lambda end: "" if end[1].islower() else end[0], text)


# -- rows

# The names of DPR's dump and of our own rows first, then those of BEIR's and Pyserini's collections.
_NAMES = {
    "text": ("text", "contents"),
    "title": ("title",),
    "id": ("id", "_id", "docid"),
    "source": ("url", "source"),
}


def _row(fields: Mapping[str, object], path: Path, line: int) -> Document:
    """Raises ValueError, whose message says what the row lacks."""
    found: dict[str, str] = {}
    for field, names in _NAMES.items():
        value = next((fields[name] for name in names if fields.get(name) not in (None, "")), "")
        if not isinstance(value, str | int | float):
            raise ValueError(f"its {field} is not a string")
        found[field] = str(value)
    if not found["text"].strip():
        raise ValueError("it has no text")
    source = found["source"]
    if not source.startswith(("http://", "https://")):  # a row cannot pass for another file
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
            raise Unreadable("its first line names no column `text`")
        for row in rows:
            try:
                if row.wrong:
                    raise ValueError(row.wrong)
                if len(row.cells) != len(header):
                    raise ValueError(f"it has {len(row.cells)} columns, and the first line names {len(header)}")
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
