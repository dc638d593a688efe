"""Updates an index with files, in one transaction."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, groupby, islice, repeat
from pathlib import Path

import tantivy

from robust_qa import IndexProgress, IndexReport
from robust_qa.documents import (
    Entry,
    FileReader,
    Skipped,
    Unreadable,
    check_known,
    find,
    is_gone,
    lost,
    removed,
    shown,
)
from robust_qa.kit import language_of
from rqa_bm25.analysis import stemmed
from rqa_bm25.index import Index, decoded, key_of, searched

_PROGRESS_EVERY = 1000  # passages
_MOST_DELETED = 0.1  # of all passages on disk; above it the index is rewritten
_PAGE = 10_000  # passages in one search
_SAMPLE = 5  # passages that show the language of a document


def update(
    index: Index,
    paths: Sequence[Path],
    reader: FileReader,
    *,
    language: str,
    memory: int,
    progress: IndexProgress | None = None,
) -> IndexReport:
    """Update `index` with the files at and under `paths`. `memory` is in megabytes.

    If it is interrupted, the index stays unchanged.

    Raises BusyError while another process writes, InputError for a path that neither exists nor was indexed, and
    ConfigError if the folder or the language does not match.
    """
    if index.language() is None:
        check_known(paths, ())
    with index.writing(language) as (engine, damage):
        stamps = index.stamps(engine)
        indexed = damage.indexed if damage else tuple(stamps)
        check_known(paths, indexed)
        again = map(Path, indexed) if damage else ()
        found = find(path for path in (*paths, *again) if not is_gone(path))
        if damage:
            other = "" if indexed else ". Index your other files again, too"
            found.skipped.append((str(index.folder), f"it was damaged ({damage.file}), so it is built again{other}"))
        found.report_kept(stamps)
        with _transaction(index, engine, memory) as writer:
            run = _Run(index, writer, stamps, reader, language, found.skipped, progress)
            run.remove({*removed(stamps, paths, found), *lost(stamps)})
            run.read(found.files)
            run.commit(engine)
        engine.reload()
        return IndexReport(
            **run.counts,
            passages=engine.searcher().num_docs,
            skipped=tuple(found.skipped),
            folder=str(index.folder),
        )


@contextmanager
def _transaction(index: Index, engine: tantivy.Index, memory: int) -> Iterator[tantivy.IndexWriter]:
    """Yield a writer. Rolls back uncommitted changes, and waits for its threads."""
    with index.guarded("Writing"):
        # One thread keeps passages in the order of reading, so that equal files give equal ranks.
        writer = engine.writer(memory * 1_000_000, 1)
    try:
        yield writer
    except BaseException:  # including KeyboardInterrupt
        writer.rollback()
        raise
    finally:
        writer.wait_merging_threads()


@dataclass
class _Run:
    """One transaction: its changes and its report."""

    index: Index
    writer: tantivy.IndexWriter
    stamps: Mapping[str, str]
    reader: FileReader
    language: str  # of all files, or "auto"
    skipped: Skipped
    progress: IndexProgress | None
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("added", "changed", "removed", "unchanged"), 0)
    )
    done: int = 0  # files
    total: int = 0  # files
    passages: int = 0
    fresh: dict[str, str] = field(default_factory=dict)  # stamps of files to read
    dropped: set[str] = field(default_factory=set)  # files whose old passages are deleted

    def remove(self, files: Iterable[str]) -> None:
        """Remove files from the index."""
        for file in files:
            self._drop(file)
            self.counts["removed"] += 1

    def read(self, paths: Collection[Path]) -> None:
        """Update the index with each of `paths`."""
        self.total = len(paths)
        for path, entries in self.reader.entries_of(self._outdated(paths), self.skipped):
            self._file(path, entries)
            self.done += 1
            self._report()

    def commit(self, engine: tantivy.Index) -> None:
        """Commit if anything changed. Rewrites the index first if too much of it is deleted."""
        if sum(self.counts.values()) > self.counts["unchanged"]:
            with self.index.guarded("Writing"):
                if _must_rewrite(
                    self.index.folder / "tantivy", engine, self.dropped & self.stamps.keys(), self.passages
                ):
                    _rewrite(
                        engine, self.writer, [file for file in self.stamps if file not in self.dropped], self._report
                    )
                self.writer.commit()

    def _outdated(self, paths: Iterable[Path]) -> Iterator[Path]:
        """Yield the files that are new or changed, with their stamps in `fresh`."""
        for path in paths:
            file = shown(path)
            known = self.stamps.get(file)
            try:
                state = self.reader.state(path)
                stamp = self.reader.stamp(path)
            except OSError as error:  # possibly temporary, so its passages stay
                stays = ", so its old passages stay in the index and still answer" if known else ""
                self.skipped.append((file, f"it cannot be opened: {error.strerror}{stays}"))
            else:
                if not stamp or stamp != known:
                    self.fresh[file] = f"{stamp} {state}"
                    yield path
                    continue
                self.counts["unchanged"] += 1
            self.done += 1
            self._report()

    def _file(self, path: Path, entries: Iterable[Entry]) -> None:
        """Update one file. Removes it from the index if it cannot be read completely."""
        file = shown(path)
        known = self.stamps.get(file)
        if known:
            self._drop(file)
        before = self.passages
        try:
            self._add(file, entries, self.fresh.pop(file))
            reason = "it has no text"
        except (OSError, Unreadable) as error:
            self._drop(file)
            self.passages = before
            reason = str(error)
        if self.passages > before:
            self.counts["changed" if known else "added"] += 1
        else:
            self.counts["removed"] += known is not None
            self.skipped.append((file, reason))

    def _add(self, file: str, entries: Iterable[Entry], stamp: str) -> None:
        for each, language in (
            _in_languages(entries) if self.language == "auto" else zip(entries, repeat(self.language))
        ):
            title, text = each.title, each.text
            entry = tantivy.Document(
                file=file, key=key_of(title, text).hex(), language=language, words=searched(title, text, language)
            )
            entry.add_bytes("title", _bytes(title))
            entry.add_bytes("text", _bytes(text))
            entry.add_bytes("id", _bytes(each.id))
            if each.source:
                entry.add_bytes("source", _bytes(each.source))
            if each.date:
                entry.add_bytes("date", _bytes(each.date))
            if each.place:
                entry.add_bytes("place", _bytes(each.place))
            if stamp:
                entry.add_bytes("stamp", stamp.encode())
                entry.add_boolean("first", True)
                stamp = ""
            with self.index.guarded("Writing"):
                self.writer.add_document(entry)
            self.passages += 1
            if self.passages % _PROGRESS_EVERY == 0:
                self._report()

    def _drop(self, file: str) -> None:
        self.dropped.add(file)
        with self.index.guarded("Writing"):
            self.writer.delete_documents_by_term("file", file)

    def _report(self) -> None:
        if self.progress:
            self.progress(self.done, self.total, self.passages)


def _in_languages(entries: Iterable[Entry]) -> Iterator[tuple[Entry, str]]:
    """Yield each passage with the stemmer of its document's language."""
    for _, group in groupby(entries, key=lambda each: each.document):
        passages = iter(group)
        first = list(islice(passages, _SAMPLE))
        language = stemmed(language_of(" ".join(each.text for each in first)))
        yield from zip(chain(first, passages), repeat(language))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def _must_rewrite(folder: Path, engine: tantivy.Index, dropped: Collection[str], added: int) -> bool:
    """Whether too much of the index is deleted passages, once `dropped` files are deleted and `added` passages added.

    tantivy only marks deleted passages until it merges segments. Until then they count in document frequencies and
    in the mean length, and their text stays on disk.
    """
    searcher = engine.searcher()
    stored = _stored(folder)
    deleted = sum(1 for file in dropped for _ in _addresses(engine, searcher, file))
    return stored - searcher.num_docs + deleted > _MOST_DELETED * (stored + added)


def _rewrite(
    engine: tantivy.Index, writer: tantivy.IndexWriter, files: Collection[str], report: Callable[[], None]
) -> None:
    """Write all passages of `files` again, in the same order, to drop the deleted ones."""
    searcher = engine.searcher()
    done = 0
    for file in files:
        writer.delete_documents_by_term("file", file)
        for address in _addresses(engine, searcher, file):
            passage = searcher.doc(address)
            title, text = decoded(passage, "title"), decoded(passage, "text")
            language = str(passage.get_first("language"))
            passage.add_text("words", searched(title, text, language))  # not stored, like `key` and `first`
            passage.add_text("key", key_of(title, text).hex())
            if passage.get_first("stamp"):
                passage.add_boolean("first", True)
            writer.add_document(passage)
            done += 1
            if done % _PROGRESS_EVERY == 0:
                report()


def _addresses(engine: tantivy.Index, searcher: tantivy.Searcher, file: str) -> Iterator[tantivy.DocAddress]:
    """Yield the addresses of a file's passages, in the order of the index, a page at a time."""
    # Equal scores keep the order.
    query = tantivy.Query.const_score_query(tantivy.Query.term_query(engine.schema, "file", file), 1.0)
    start = 0
    while hits := searcher.search(query, _PAGE, count=False, offset=start).hits:
        yield from (address for _, address in hits)
        if len(hits) < _PAGE:
            return
        start += _PAGE


def _stored(folder: Path) -> int:
    """Return the number of passages on disk, including deleted ones."""
    meta = json.loads((folder / "meta.json").read_bytes())
    return sum(segment["max_doc"] for segment in meta["segments"])
