"""Update an index of files: which files changed or are gone, and the passages of each."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import which
from typing import NamedTuple

import msgspec

from robust_qa import ConfigError, FileFormat, InputError, Stale
from robust_qa.version import __version__
from rqa_claims.editions import date_in, edition_of, stated, versions_in

from .blocks import Unreadable
from .cutting import Cut
from .detection import NOT_TEXT
from .document import NUMBERED, Document, File, Formats
from .encodings import charset
from .ignoring import Rules
from .isolation import SECONDS, Call, in_order
from .walk import ABSENT, Found, Skipped, State, is_gone, is_under, located, places, shown, state_of

_NAMED = 3  # files that were not read
_REPORTED_ROWS = 20  # bad rows of one file that are listed; the rest are counted
_HEAD = 6  # blocks in which a document says what it is
_DIGIT = re.compile(r"\d")
_TICK = 20_000_000  # nanoseconds within which two changes of a file may get the same time


class Indexed(msgspec.Struct, frozen=True, array_like=True):
    """What an index keeps of a file, or of a folder that cannot be opened.

    `state`, `stamp` and `options` are from before the file was read. If reading it failed for now, `options` is "", and
    `stamp` is that of the old passages. `skipped` holds what was not read, with reasons. With no `passages`, nothing
    was.
    """

    state: State | None = None
    stamp: str = ""
    options: str = ""
    passages: int = 0
    skipped: tuple[tuple[str, str], ...] = ()


class FileTable(msgspec.Struct, frozen=True):
    """The files of an index by name, the files and folders that were given to it, and those that were removed again.

    `rules` say what the folders are read without.
    """

    files: dict[str, Indexed] = {}
    roots: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    rules: Rules = Rules()

    def states(self, options: str | None = None) -> dict[str, State]:
        """Return the states of the files that were read with these options, None for any."""
        return {
            name: file.state
            for name, file in self.files.items()
            if file.state and (options is None or file.options == options)
        }

    def indexed(self) -> dict[str, Indexed]:
        """Return the files with passages."""
        return {name: file for name, file in self.files.items() if file.passages}

    def unread(self) -> str:
        """Return which files could not be read and why, "" if all were. Those of no known format do not count."""
        files = [file for file in self.files.values() if not file.passages or not file.options]
        found = [(name, why) for file in files for name, why in file.skipped if why != NOT_TEXT]
        found = [(name, why) for name, why in found if not why.startswith("read ")]
        count = "1 file was" if len(found) == 1 else f"{len(found):,} files were"
        named = [f"{name} ({why})" for name, why in found[:_NAMED]]
        more = [f"{len(found) - _NAMED:,} more"] if len(found) > _NAMED else []
        return f"{count} not read: {', '.join([*named, *more])}" if found else ""

    def roots_with(self, paths: Iterable[Path]) -> tuple[str, ...]:
        """Return the roots and `paths`, without those inside of others."""
        roots: set[Path] = set()
        for root in sorted({*self.roots, *map(shown, paths)}):
            if not is_under(root, roots):
                roots.add(Path(root))
        return tuple(sorted(map(str, roots)))


class Entry(NamedTuple):
    """A passage of a file as an index stores it.

    `source` is "" if it is the file, `date` and `place` "" if unknown. `document` is the id of its document.
    """

    id: str
    title: str
    text: str
    source: str = ""
    date: str = ""
    place: str = ""
    document: str = ""
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class FileReader:
    """Reads files into passages.

    Skips files larger than `megabytes`, and those that take more processor time than `seconds` and two more for each
    megabyte when decompressed.
    `encoding` is that of text files, "" to detect it. `formats` are those of the files.
    Raises ConfigError if there is no such encoding.
    """

    cut: Cut
    megabytes: int = 200
    seconds: float = SECONDS
    encoding: str = ""
    formats: Formats = ()

    def __post_init__(self) -> None:
        if self.encoding and not charset(b"", self.encoding):
            raise ConfigError(
                f"There is no encoding {self.encoding!r}.",
                hint='Set `encoding` to a name such as "cp1251", or leave it empty, so that it is detected.',
            )

    @property
    def options(self) -> str:
        """All that decides how a file is read. With other options, it is looked at again."""
        own = self.cut.words, self.cut.overlap, self.encoding, self.megabytes, self.seconds
        return " ".join(map(str, (*own, __version__, which("tesseract") is not None, *self._foreign())))

    def stamp(self, path: Path) -> str:
        """Return a hash of the file's bytes and of what decides its passages, "" if the file is too large.

        Compute it before the file is read, so that the next run reads a file again that changed meanwhile.
        Raises OSError if the file cannot be opened.
        """
        if self._too_large(path):
            return ""
        suffix = path.suffix.lower().removeprefix(".")
        formats = [each for each in self._foreign() if not each.suffixes or each.has_suffix(suffix)]
        options = f"{self.cut.words} {self.cut.overlap} {self.encoding} {date_in(path.stem)} {formats}".encode()
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, lambda: hashlib.sha256(options)).hexdigest()

    def staleness(self, name: str, file: Indexed) -> Stale:
        """Return what became of an indexed file."""
        path = located(name)
        try:
            is_read = file.options and state_of(path.stat()) == file.state
            return "" if is_read or self.stamp(path) == file.stamp else "changed"
        except OSError as error:
            return "gone" if error.errno in ABSENT else "unreadable"

    def entries(self, path: Path, skipped: Skipped) -> Iterator[Entry]:
        """Yield the passages of the file, and add its bad rows to `skipped`. Raises OSError and Unreadable."""
        for _, entries in self.entries_of([path], skipped):
            yield from entries

    def entries_of(self, paths: Iterable[Path], skipped: Skipped) -> Iterator[tuple[Path, Iterator[Entry]]]:
        """Yield each file with its passages, as `entries` does. Reads several files at once and ahead."""
        calls = (Call(path, self._entries, (path,), self.seconds, formats=self.formats) for path in paths)
        for call, results in in_order(calls):
            yield call.path, _kept(results, skipped)

    def _entries(self, path: Path) -> Iterator[Entry | tuple[str, str]]:
        """Yield the passages of the file, then its bad rows."""
        from .reading import read  # here, because a question over known files imports no reader

        if self._too_large(path):
            limit = f"{self.megabytes:,} MB, the limit of the option `file_megabytes`"
            raise Unreadable(f"it has {path.stat().st_size / 1e6:,.1f} MB, more than {limit}")
        date = date_in(path.stem)
        rows = _BadRows(shown(path))
        file = File(path, self.megabytes * 1_000_000, self.encoding, formats=self.formats)
        for found in read(file, rows):
            document = _with_edition(found, path)
            passages = list(self.cut.passages(document))
            for number, passage in enumerate(passages, start=1):
                yield Entry(
                    document.id if len(passages) == 1 else f"{document.id}#{number}",
                    passage.title,
                    passage.text,
                    "" if document.source == str(path) else document.source,
                    document.date or date,
                    _place(document, passage.line),
                    document.id,
                    passage.lines if any(passage.lines[1:]) else (),
                )
        yield from rows.reported()

    def _foreign(self) -> list[FileFormat]:
        """Return the formats that do not come with rqa, which have versions of their own."""
        return [each for each in self.formats if each.version]

    def _too_large(self, path: Path) -> bool:
        return path.stat().st_size > self.megabytes * 1_000_000


def _with_edition(document: Document, path: Path) -> Document:
    """Return a document with the date that it states, and with the version or standing of its text in its title."""
    releases = sum(block.kind == "heading" and bool(versions_in(block.text)) for block in document.blocks)
    # A list of releases is of none of them, and neither is a table. A single row at the beginning is front matter.
    left_out = ("row", "code", "heading") if releases > 1 else ("row", "code")
    head = document.blocks[:_HEAD]
    front = head[:1] if [each.kind for each in head[:2]].count("row") == 1 and head[0].kind == "row" else []
    told = [*front, *(each for each in head if each.kind not in left_out)]
    date, words = stated("\n\n".join(each.text for each in told))
    own = edition_of(document.title, path.name) if words else None
    title = f"{document.title}, {words}" if own and not own.version and not own.past else document.title
    titled = date_in(document.title) if _DIGIT.search(document.title) else ""
    date = document.date or (date if date.startswith(titled) else titled)
    return document if (title, date) == (document.title, document.date) else replace(document, title=title, date=date)


def _place(document: Document, line: int) -> str:
    place = document.place
    if line and place.endswith(NUMBERED):
        return f"{place} {line}" + (f" (printed {label})" if (label := document.labels.get(line)) else "")
    return place or (f"line {line}" if line else "")


def _kept(results: Iterator[Entry | tuple[str, str]], skipped: Skipped) -> Iterator[Entry]:
    for item in results:
        if isinstance(item, Entry):
            yield item
        else:
            skipped.append(item)


def settle(state: State) -> None:
    """Wait until a further change of a file with that state gives it another state."""
    age = time.time_ns() - max(state[1:])
    if 0 <= age < _TICK:
        time.sleep((_TICK - age) / 1e9)


def check_known(paths: Iterable[Path], indexed: Collection[str]) -> None:
    """Raise InputError for a path that neither exists nor has files in `indexed`, the names of indexed files."""
    for path in paths:
        if is_gone(path) and not any(is_under(file, places([path])) for file in indexed):
            raise InputError(f"There is no file or folder {path}.", hint="Check the path. Nothing was indexed.")


def removed(indexed: Iterable[str], paths: Sequence[Path], found: Found) -> Iterator[str]:
    """Yield the indexed files at and under `paths` that were not found again.

    A hidden file is found only by its own path, so it is removed only when it no longer exists.
    """
    here, named = {*map(shown, found.files), *found.unchanged}, places(paths)
    for file in indexed:
        unseen = file not in here and is_under(file, named) and not is_under(file, found.closed)
        if unseen and (_is_visible(file, named) or is_gone(located(file))):
            yield file


def lost(indexed: Iterable[str]) -> Iterator[str]:
    """Yield the indexed files that no longer exist, for example because their folder was renamed.

    Not for an index that several machines write, because each has other files.
    """
    for file in indexed:
        path = located(file)
        if is_gone(path) and not _may_be_unmounted(path):
            yield file


def _may_be_unmounted(path: Path) -> bool:
    """Whether `path` may be on a drive that is not mounted: its mount point is then an empty folder."""
    try:
        folder = next(parent for parent in path.parents if parent.is_dir())
        return next(folder.iterdir(), None) is None
    except OSError:
        return True


def _is_visible(file: str, named: Set[Path]) -> bool:
    """Whether a walk from one of `named` meets `file`, because nothing on the way is hidden."""
    path = Path(file)
    while path not in named and not path.name.startswith(".") and path != path.parent:
        path = path.parent
    return path in named


class _BadRows:
    """The bad rows of one file: the first few, and the number of the others."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._first: Skipped = []
        self._count = 0

    def __call__(self, place: str, reason: str) -> None:
        self._count += 1
        if len(self._first) < _REPORTED_ROWS:
            self._first.append((place, reason))

    def reported(self) -> Skipped:
        more = self._count - len(self._first)
        return [*self._first, (self._file, f"{more} more rows like these")] if more else self._first
