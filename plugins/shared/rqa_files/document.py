"""A document as read from a file, and the file that it is read from."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, TextIO

from robust_qa import FileFormat
from robust_qa.kit import single_line

from .blocks import Block, TemporarilyUnreadable, Unreadable, as_title, title_of
from .encodings import decode, encoding_of

LIMIT = 200_000_000  # bytes of a file
NUMBERED = (" row", "paragraph", "cell", "page")
_HEAD = 8192  # bytes that show what a file is
_SAMPLE = 1 << 20  # bytes that show the encoding of a file
_LONGEST_WHY = 200  # characters of a parser's message

Formats = Sequence[FileFormat]
"""The formats of files that plugins registered, as `Host.file_formats` has them."""
Report = Callable[[str, str], None]
"""Called with a place in a file (path, path:line or path:first-last) that was not read, and the reason."""


@dataclass(frozen=True, slots=True)
class Document:
    """Blocks to cut into passages. `id` is unique within the file. `source` is a path or URL to show.

    `date` is YYYY, YYYY-MM or YYYY-MM-DD, as the document states it. `place` says which part of the file this is,
    such as "page 3". If it ends in one of NUMBERED, the lines of the blocks are their numbers. `labels` has what is
    printed on the pages that it counts otherwise.
    """

    title: str
    blocks: tuple[Block, ...]
    id: str
    source: str
    date: str = ""
    place: str = ""
    labels: Mapping[int, str] = field(default_factory=dict, hash=False)

    @property
    def text(self) -> str:
        """The text of all blocks."""
        return "\n\n".join(block.text for block in self.blocks)


class File:
    """A file to read, which may be compressed with gzip. `suffix` and `stem` are without .gz.

    `limit` is the largest number of bytes when decompressed, `encoding` that of the text, "" to detect it. `formats`
    are those that it may have. With `content` it is a file inside the one at `path`, such as an attachment, with the
    name `inside`.
    """

    def __init__(
        self,
        path: Path,
        limit: int,
        encoding: str = "",
        *,
        formats: Formats = (),
        inside: str = "",
        content: bytes | None = None,
    ) -> None:
        self.path = path
        self.limit = limit
        self.encoding = encoding
        self.formats = formats
        self.content = content
        name = Path(inside or path)
        self.is_compressed = content is None and name.suffix.lower() == ".gz"
        name = Path(name.stem) if self.is_compressed else name
        self.suffix = name.suffix.lower()
        self.stem = name.stem if name.suffix[1:2].isalpha() else name.name  # Apache-2.0 has no suffix

    @cached_property
    def head(self) -> bytes:
        """The first bytes. Raises OSError and Unreadable."""
        if self.content is not None:
            return self.content[:_HEAD]
        with self._gunzipped() if self.is_compressed else self.path.open("rb") as stream:
            return stream.read(_HEAD)

    @cached_property
    def beginning(self) -> str:
        """The first characters of a text file. Line ends are line feeds."""
        return decode(self.head, self.encoding).replace("\r\n", "\n")

    @cached_property
    def members(self) -> list[str]:
        """The names of the files in a zip archive, none if it is damaged."""
        import zipfile  # here, because few files need it

        try:
            with self.open() as stream, zipfile.ZipFile(stream) as archive:
                return archive.namelist()
        except (zipfile.BadZipFile, ValueError, NotImplementedError):
            return []

    def open(self) -> IO[bytes]:
        """Open the file to read its bytes. Raises OSError and Unreadable."""
        if self.content is not None:
            return io.BytesIO(self.content)
        if not self.is_compressed:
            return self.path.open("rb")
        with self._gunzipped() as stream:
            content = stream.read(self.limit + 1)
        self.check_size(len(content))
        return io.BytesIO(content)

    @contextmanager
    def lines(self, newline: str | None = None) -> Iterator[TextIO]:
        """Open the file to read its text. `newline` is as for `open`. Raises OSError and Unreadable."""
        with self.open() as stream:
            sample = stream.read(_SAMPLE)
            stream.seek(0)
            yield io.TextIOWrapper(stream, *encoding_of(sample, self.encoding), newline)

    def text(self, content: bytes | None = None, named: str = "", *, page: bool = False) -> str:
        """Return the text of the file, or of `content`. Line ends become line feeds.

        `named` is the encoding that the file states, `page` whether it may declare one as HTML does.
        """
        if content is None:
            with self.open() as stream:
                content = stream.read()
        text = decode(content, self.encoding or named, page=page)
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def check_size(self, size: int) -> None:
        """Raise Unreadable if the file has too many bytes when decompressed."""
        if size > self.limit:
            raise Unreadable(f"it has more than {self.limit / 1e6:,.0f} MB when decompressed")

    def document(self, title: str, blocks: list[Block], date: str = "", part: str = "", place: str = "") -> Document:
        """Return a document of the file, or of its `part`. Without `title` the title is that of the blocks."""
        shown = as_title(title) or title_of(blocks) or self.stem
        id = f"{self.path}#{part}" if part else str(self.path)
        return Document(shown, tuple(blocks), id, str(self.path), date, place)

    @contextmanager
    def _gunzipped(self) -> Iterator[gzip.GzipFile]:
        try:
            with gzip.open(self.path) as stream:
                yield stream
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise Unreadable(f"it cannot be decompressed: {error}") from error


def report_left_out(file: File, texts: list[str], report: Report) -> None:
    """Report how many words of a file were left out because they are struck out or hidden."""
    if words := len(" ".join(texts).split()):
        report(str(file.path), f"read without {words:,} struck out or hidden word{'s' * (words > 1)}")


def report_hidden(
    file: File,
    report: Report,
    sheet: str = "",
    *,
    sheets: Sequence[str] = (),
    rows: Sequence[int] = (),
    columns: int = 0,
) -> None:
    """Report the hidden sheets of a workbook, or the hidden rows and columns of a sheet, which are read."""
    of = f"of the sheet {sheet}"
    if sheets:
        report(str(file.path), f"read without its hidden sheets: {', '.join(sheets)}")
    if rows:
        report(str(file.path), f"read with {len(rows):,} hidden row{'s' * (len(rows) > 1)} {of}, such as row {rows[0]}")
    if columns:
        report(str(file.path), f"read with {columns:,} hidden column{'s' * (columns > 1)} {of}")


def unpacked_size(path: Path) -> int:
    """Return the bytes that a zip or gzip file states for its content, up to LIMIT. Other files: their own size."""
    import zipfile  # here, because few files need it

    size = 0
    with suppress(OSError, ValueError, NotImplementedError, zipfile.BadZipFile), path.open("rb") as stream:
        size = stream.seek(0, io.SEEK_END)
        if path.suffix.lower() == ".gz":
            stream.seek(-4, io.SEEK_END)
            size = max(size, min(int.from_bytes(stream.read(), "little"), LIMIT))
        elif zipfile.is_zipfile(stream):
            with zipfile.ZipFile(stream) as archive:
                size = max(size, min(sum(member.file_size for member in archive.infolist()), LIMIT))
    return size


@contextmanager
def unreadable_on_failure() -> Iterator[None]:
    """Raise Unreadable for any exception except OSError, so that one bad file does not stop the indexing."""
    try:
        yield
    except (OSError, Unreadable):
        raise
    except MemoryError as error:
        raise TemporarilyUnreadable("reading it needs too much memory") from error
    except Exception as error:
        why = f"{type(error).__name__}: {single_line(str(error))}".removesuffix(": ")
        raise Unreadable(f"reading it failed with {why[:_LONGEST_WHY]}") from error
