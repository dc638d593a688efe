"""Bringing an index up to date with files, in one transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import tantivy

from robust_qa import IndexProgress, IndexReport, InputError
from robust_qa.documents import (
    Cut,
    Document,
    Found,
    Skipped,
    Unreadable,
    find,
    is_gone,
    places,
    read,
    sections,
    shown,
    tidy,
    title_under,
    unreadable_on_failure,
)
from rqa_bm25.index import Index, searched
from rqa_bm25.renewal import is_due, renew

_REPORTED_ROWS = 20  # of one file; the rest are counted
_PROGRESS_EVERY = 1000  # passages
_LINKED = " linked"  # ends the stamp of a hidden file that a link led to


def update(
    index: Index,
    paths: Sequence[Path],
    cut: Cut,
    *,
    language: str,
    memory: int,
    file_megabytes: int,
    progress: IndexProgress | None = None,
) -> IndexReport:
    """Make `index` hold what the files at and under `paths` hold now; `memory` is in megabytes.

    Larger files than `file_megabytes` are skipped.

    Raises BusyError, InputError for a path that neither exists nor was indexed, ConfigError for a folder or a
    language that does not fit. Interrupted at any point, the index stays as it was.
    """
    missing = [path for path in paths if is_gone(path)]
    if missing and index.language() is None:
        raise _no_such(missing[0])
    with index.writing(language) as engine:
        stamps = index.stamps(engine)
        for path in missing:
            if not any(_is_under(file, places([path])) for file in stamps):
                raise _no_such(path)
        found = find(path for path in paths if path not in missing)
        with _transaction(index, engine, memory) as writer:
            named = places(paths)
            run = _Run(index, writer, stamps, named, cut, file_megabytes, found.skipped, progress)
            run.remove(_leaving(stamps, named, found))
            run.read(found.files)
            run.commit(engine)
        engine.reload()
        return IndexReport(
            **run.counts,
            passages=engine.searcher().num_docs,
            skipped=tuple(found.skipped),
            folder=str(index.folder),
        )


def _no_such(path: Path) -> InputError:
    return InputError(f"There is no file or folder {path}.", hint="Check the path; nothing was indexed.")


def _leaving(stamps: Mapping[str, str], named: Set[Path], found: Found) -> Iterator[str]:
    """What was indexed before, is named now, and is not to be found any more.

    No walk comes by a hidden file that was named by itself: it leaves when it is gone.
    """
    here = {shown(path) for path in found.files}
    for file, stamp in stamps.items():
        unseen = file not in here and _is_under(file, named) and not _is_under(file, found.closed)
        if unseen and (_is_met(file, named) or stamp.endswith(_LINKED) or is_gone(Path(file))):
            yield file


def _is_under(file: str, named: Set[Path]) -> bool:
    path = Path(file)
    return path in named or not named.isdisjoint(path.parents)


def _is_met(file: str, named: Set[Path]) -> bool:
    """Whether nothing on the way to `file` is hidden, from one of `named` at least."""
    path = Path(file)
    while path not in named and not path.name.startswith(".") and path != path.parent:
        path = path.parent
    return path in named


@contextmanager
def _transaction(index: Index, engine: tantivy.Index, memory: int) -> Iterator[tantivy.IndexWriter]:
    """A writer whose work counts only where it was committed; its threads end here."""
    with index.guarded("Writing"):
        # One thread keeps the passages in the order they were read in, so that equal files give equal ranks.
        writer = engine.writer(memory * 1_000_000, 1)
    try:
        yield writer
    except BaseException:  # also when interrupted: nothing half done counts
        writer.rollback()
        raise
    finally:
        writer.wait_merging_threads()


@dataclass
class _Run:
    """What one transaction does, file by file, and what there is to say of it."""

    index: Index
    writer: tantivy.IndexWriter
    stamps: Mapping[str, str]
    named: Set[Path]
    cut: Cut
    file_megabytes: int
    skipped: Skipped
    progress: IndexProgress | None
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("added", "changed", "removed", "unchanged"), 0)
    )
    done: int = 0  # files
    total: int = 0  # files
    passages: int = 0
    dropped: set[str] = field(default_factory=set)  # files whose passages of before are deleted

    def remove(self, files: Iterable[str]) -> None:
        """Take files out of the index."""
        for file in files:
            self._drop(file)
            self.counts["removed"] += 1

    def read(self, paths: Collection[Path]) -> None:
        """Bring the index up to date with each of `paths`."""
        self.total = len(paths)
        for path in paths:
            self._file(path)
            self.done += 1
            self._tell()

    def commit(self, engine: tantivy.Index) -> None:
        """Make it so, and write the rest anew where much is deleted.

        Nothing is committed where nothing changed: the generation stays.
        """
        if sum(self.counts.values()) > self.counts["unchanged"]:
            with self.index.guarded("Writing"):
                if is_due(self.index.folder / "tantivy", engine, self.dropped & self.stamps.keys(), self.passages):
                    renew(engine, self.writer, [file for file in self.stamps if file not in self.dropped], self._tell)
                self.writer.commit()

    def _file(self, path: Path) -> None:
        """Replace what the index has of one file; a file that cannot be read to its end leaves the index."""
        file = shown(path)
        known = self.stamps.get(file)
        try:
            size = path.stat().st_size
            too_large = size > self.file_megabytes * 1_000_000
            stamp = "" if too_large else self._stamp(path)
        except OSError as error:  # perhaps it opens again tomorrow: what was indexed of it stays
            self.skipped.append((file, f"it does not open: {error.strerror}"))
            return
        if stamp and stamp == known:
            self.counts["unchanged"] += 1
            return
        if known:
            self._drop(file)
        before = self.passages
        try:
            if too_large:
                limit = f"the option `file_megabytes` allows {self.file_megabytes:,} MB"
                raise Unreadable(f"it has {size / 1e6:,.1f} MB, and {limit}")
            self._add(path, stamp)
            why = "it has no text"
        except (OSError, Unreadable) as error:
            self._drop(file)
            self.passages = before
            why = str(error)
        if self.passages > before:
            self.counts["changed" if known else "added"] += 1
        else:
            self.counts["removed"] += known is not None
            self.skipped.append((file, why))

    def _stamp(self, path: Path) -> str:
        """A hash of the file's bytes and of how they are cut, and whether a link led to what is hidden.

        It is taken before the file is read, so a file that changes meanwhile is read again by the next run.
        """
        how = f"{self.cut.words} {self.cut.overlap} ".encode()
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, lambda: hashlib.sha256(how)).hexdigest()
        return digest if _is_met(shown(path), self.named) else digest + _LINKED

    def _add(self, path: Path, stamp: str) -> None:
        file = shown(path)
        rows = _BadRows(file)
        for document, passages in self._cut(path, rows):
            heading = any(heading.title == document.title for heading in document.headings)
            for number, (above, text) in enumerate(passages, start=1):
                title = title_under(tidy(document.title), above, heading=heading)
                entry = tantivy.Document(file=file, words=searched(title, text))
                entry.add_bytes("title", _bytes(title))
                entry.add_bytes("text", _bytes(text))
                entry.add_bytes("id", _bytes(document.id if len(passages) == 1 else f"{document.id}#{number}"))
                if document.source != str(path):
                    entry.add_bytes("source", _bytes(document.source))
                if stamp:
                    entry.add_bytes("stamp", stamp.encode())
                    entry.add_boolean("first", True)
                    stamp = ""
                with self.index.guarded("Writing"):
                    self.writer.add_document(entry)
                self.passages += 1
                if self.passages % _PROGRESS_EVERY == 0:
                    self._tell()
        self.skipped += rows.reported()

    def _cut(self, path: Path, rows: _BadRows) -> Iterator[tuple[Document, list[tuple[list[str], str]]]]:
        """The documents of the file, each with its passages."""
        with unreadable_on_failure():  # not around what reads this: an index that cannot be written ends the run
            for document in read(path, rows):
                yield document, list(self.cut.sections(sections(document.text, document.headings)))

    def _drop(self, file: str) -> None:
        self.dropped.add(file)
        with self.index.guarded("Writing"):
            self.writer.delete_documents_by_term("file", file)

    def _tell(self) -> None:
        if self.progress:
            self.progress(self.done, self.total, self.passages)


class _BadRows:
    """The rows of one file that were left out: the first few, and how many more."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._first: Skipped = []
        self._count = 0

    def __call__(self, where: str, why: str) -> None:
        self._count += 1
        if len(self._first) < _REPORTED_ROWS:
            self._first.append((where, why))

    def reported(self) -> Skipped:
        more = self._count - len(self._first)
        return [*self._first, (self._file, f"{more} more rows like these")] if more else self._first


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")
