"""Updates an index with files, in one transaction."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import accumulate, chain, groupby, islice, pairwise, repeat
from pathlib import Path

import tantivy
from msgspec.structs import replace

from robust_qa import IndexProgress, IndexReport, InputError
from robust_qa.kit import language_of
from rqa_bm25.analysis import stemmed
from rqa_bm25.index import Index, add_searched
from rqa_files import (
    Entry,
    FileReader,
    FileTable,
    Found,
    Indexed,
    Rules,
    State,
    TemporarilyUnreadable,
    Unreadable,
    check_known,
    find,
    is_gone,
    is_under,
    located,
    lost,
    places,
    removed,
    settle,
    shown,
)

_PROGRESS_EVERY = 1000  # passages
_MOST_DELETED = 0.1  # of all passages on disk; above it the index is rewritten
_PAGE = 10_000  # passages in one search
_SAMPLE = 5  # passages that show the language of a document
_ALIKE = 100  # documents of a file in one language, after which one in `_LOOKED_AT` is looked at
_LOOKED_AT = 8
_QUICK_FILES = 50  # that `refresh` reads
_QUICK_BYTES = 2_000_000  # of them together
_QUICK_REMOVED = 1_000  # files that `refresh` removes


def update(
    index: Index,
    paths: Sequence[Path],
    reader: FileReader,
    *,
    language: str,
    memory: int,
    rules: Rules = Rules(),  # noqa: B008 - it is frozen
    progress: IndexProgress | None = None,
) -> IndexReport:
    """Update `index` with the files at and under `paths`, by default those indexed before. `memory` is in megabytes.

    Without paths, `rules` are by default those of the time before.

    If it is interrupted, the index stays unchanged.

    Raises BusyError while another process writes, InputError for a path that neither exists nor was indexed, and
    ConfigError if the folder or the language does not match. Raises MissingError without paths and without an index.
    """
    if not paths:
        before = index.table()
        paths, rules = [*map(located, before.roots)], before.rules if rules == Rules() else rules
    if index.language() is None:
        check_known(paths, ())
    with index.writing(language) as engine:
        table = index.table_in(engine)
        check_known(paths, table.files)
        there = [path for path in paths if not is_gone(path)]
        without = tuple(
            name for name in table.without if not any(is_under(shown(path), {Path(name)}) for path in paths)
        )
        found = find(there, table.states(reader.options), without, formats=reader.formats, rules=rules)
        run = _Run(index, engine, table, reader, found, places(paths), language, progress)
        found.report_kept(table.indexed())
        gone = {*removed(table.indexed(), paths, found), *lost(run.unseen)}
        whole = replace(table, roots=table.roots_with(there), without=without, rules=rules)
        return run.run(gone, found.files, whole, memory=memory)


def remove(index: Index, paths: Sequence[Path], reader: FileReader, *, memory: int) -> IndexReport:
    """Remove the files at and under `paths` from `index`, until `update` gets a path at or under these.

    Raises InputError for a path without files in the index.
    """
    here = places(paths)
    with index.writing(index.language() or "none") as engine:
        table = index.table_in(engine)
        for path in paths:
            place = places([path])
            if not any(is_under(file, place) for file in (*table.files, *table.roots)):
                raise InputError(f"The index holds no file at {path}.", hint="List its files with `rqa index --list`.")
        run = _Run(index, engine, table, reader, Found(), here, "none", None)
        gone = [file for file in table.indexed() if is_under(file, here)]
        roots = [root for root in table.roots if not is_under(root, here)]
        without = {*table.without, *map(str, here)} if roots else set()
        whole = replace(table, roots=tuple(roots), without=tuple(sorted(without)))
        return run.run(gone, {}, whole, memory=memory)


def refresh(index: Index, reader: FileReader, *, memory: int) -> IndexReport:
    """Update `index` with what changed in the files and folders that were indexed before, if it is little.

    The report counts the files that were left as `pending`. Files below an empty folder, such as an unmounted drive,
    stay. Raises MissingError if there is no index, BusyError while another process writes.
    """
    table = index.table()
    roots = [path for path in map(located, table.roots) if not is_gone(path)]
    found = find(roots, table.states(), table.without, formats=reader.formats, rules=table.rules, keep=True)
    here = places(roots)
    run = _Run(index, None, table, reader, found, here, index.language() or "none", None)
    gone = [*lost(run.unseen)]
    unread = sum(file in found.not_text for file in run.unseen)  # perhaps for lack of a plugin: `rqa index` decides
    by_size = sorted(found.files.items(), key=lambda item: item[1][0])[:_QUICK_FILES]
    totals = accumulate(size for _, (size, *_) in by_size)
    quick = dict(item for item, total in zip(by_size, totals, strict=True) if total <= _QUICK_BYTES)
    now = [file for file in gone if is_under(file, here)][:_QUICK_REMOVED]
    pending = len(found.files) - len(quick) + len(gone) - len(now) + unread
    if not quick and not now and run.unread.items() <= table.files.items():
        folder, advice = str(index.folder), table.unread()
        return IndexReport(unchanged=len(found.unchanged), pending=pending, folder=folder, advice=advice)
    with index.writing(index.language() or "none") as engine:
        if index.table_in(engine) != table:  # another process was faster
            return IndexReport(folder=str(index.folder))
        run.engine = engine
        return run.run(now, quick, table, memory=memory, pending=pending)


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
        with index.guarded("Writing"):
            writer.garbage_collect_files()  # a full disk would stay full
        raise
    finally:
        writer.wait_merging_threads()


@dataclass
class _Run:
    """One transaction: its changes and its report."""

    index: Index
    engine: tantivy.Index | None
    table: FileTable
    reader: FileReader
    found: Found
    within: set[Path]  # what was looked through
    language: str  # of all files, or "auto"
    progress: IndexProgress | None
    counts: Counter[str] = field(default_factory=Counter)  # of files: added, changed, removed, unchanged, unread
    done: int = 0  # files
    total: int = 0  # files
    passages: int = 0
    fresh: dict[str, Indexed] = field(default_factory=dict)  # files to read
    dropped: set[str] = field(default_factory=set)  # files whose old passages are deleted

    def __post_init__(self) -> None:
        found, options = self.found, self.reader.options
        indexed = self.table.indexed()
        self.unread = {  # files and folders that are not to be read
            name: Indexed(found.not_text.get(name), options=options, skipped=((name, why),))
            for name, why in found.skipped
            if name not in indexed or name in found.not_text
        }
        seen = {*map(shown, found.files), *found.unchanged}
        self.unseen = [name for name in indexed if name not in seen]
        self.files = {
            name: file
            for name, file in self.table.files.items()
            if file.passages or name in found.unchanged or not is_under(name, self.within)
        }
        for name in found.unchanged:
            self.counts["unchanged"] += name in indexed
            found.skipped += self.table.files[name].skipped

    def run(
        self,
        gone: Iterable[str],
        files: Mapping[Path, State],
        table: FileTable,
        *,
        memory: int,
        pending: int = 0,
    ) -> IndexReport:
        """Remove the files that are gone, read `files`, and commit with all but the files of `table`."""
        assert self.engine is not None
        with _transaction(self.index, self.engine, memory) as self.writer:
            for file in gone:
                self._drop(file)
                self.counts["removed"] += 1
            self.files = self.unread | self.files
            self.total = len(files)
            for path, entries in self.reader.entries_of(self._outdated(files), self.found.skipped):
                self._file(path, entries)
                self._report(1)
            self._commit(replace(table, files=self.files))
        self.engine.reload()
        return IndexReport(
            **self.counts,
            passages=sum(file.passages for file in self.files.values()),
            skipped=tuple(self.found.skipped),
            folder=str(self.index.folder),
            pending=pending,
            advice=FileTable(self.files).unread(),
        )

    def _commit(self, table: FileTable) -> None:
        """Commit if anything changed. Rewrites the index first if too much of it is deleted."""
        assert self.engine is not None
        if table == self.table:
            return
        with self.index.guarded("Writing"):
            old, folder = self.table.indexed(), self.index.folder / "tantivy"
            if _must_rewrite(folder, self.engine, self.dropped & old.keys(), self.passages):
                _rewrite(self.engine, self.writer, [file for file in old if file not in self.dropped], self._report)
            self.index.put_table(self.writer, table)
            self.writer.commit()

    def _outdated(self, files: Mapping[Path, State]) -> Iterator[Path]:
        """Yield the files that are new or changed, with what is known of them in `fresh`."""
        for path, state in files.items():
            file = shown(path)
            known = self.files.get(file, Indexed())
            settle(state)
            try:
                stamp = self.reader.stamp(path)
            except OSError as error:  # possibly temporary, so its passages stay
                self._keep(file, known, state, f"it cannot be opened: {error.strerror}")
                self._report(1)
                continue
            options = self.reader.options
            if stamp and stamp == known.stamp and known.passages and (known.options == options or not known.skipped):
                self.counts["unchanged"] += 1
                self.files[file] = replace(known, state=state, options=options)
                self._report(1)
            else:
                self.fresh[file] = Indexed(state, stamp, options)
                yield path

    def _file(self, path: Path, entries: Iterable[Entry]) -> None:
        """Update one file. Removes it from the index if it cannot be read completely, unless that may be temporary."""
        assert self.engine is not None
        file, skipped = shown(path), self.found.skipped
        known = self.files.get(file, Indexed())
        if known.passages:
            self._drop(file)
        fresh, before, noted = self.fresh[file], self.passages, len(skipped)
        reason = "it has no text"
        try:
            self._add(file, entries)
        except (OSError, TemporarilyUnreadable) as error:
            with self.index.guarded("Writing"):
                _rewrite(self.engine, self.writer, [file], self._report)
            self.passages = before + known.passages
            self._keep(file, known, fresh.state, str(error))
            return
        except Unreadable as error:
            self._drop(file)
            self.passages = before
            reason = str(error)
        count = self.passages - before
        if count:
            self.counts["changed" if known.passages else "added"] += 1
        else:
            self.counts["removed"] += known.passages > 0
            self.counts["unread"] += 1
            skipped.append((file, reason))
        self.files[file] = replace(fresh, passages=count, skipped=tuple(skipped[noted:]))

    def _keep(self, file: str, known: Indexed, state: State | None, why: str) -> None:
        """Report that a file cannot be read now. Its old passages stay, and the next `update` reads it again."""
        stays = ", so its old passages stay in the index and still answer" if known.passages else ""
        self.found.skipped.append((file, why + stays))
        self.files[file] = replace(known, state=state, options="", skipped=(self.found.skipped[-1],))
        self.counts["unread"] += 1

    def _add(self, file: str, entries: Iterable[Entry]) -> None:
        state = self.fresh[file].state
        changed = datetime.fromtimestamp(state[1] / 1e9, UTC).date().isoformat() if state else ""
        known = _in_languages(entries) if self.language == "auto" else zip(entries, repeat(self.language))
        for each, language in known:
            entry = tantivy.Document(file=file, language=language)
            for name in ("title", "text", "id", "source", "date", "place"):
                if value := getattr(each, name):
                    entry.add_bytes(name, value.encode("utf-8", "backslashreplace"))
            if each.lines:
                steps = [each.lines[0], *(b - a for a, b in pairwise(each.lines))]
                entry.add_bytes("lines", " ".join(map(str, steps)).encode())
            entry.add_bytes("day", (each.date or changed).encode())
            add_searched(entry)
            with self.index.guarded("Writing"):
                self.writer.add_document(entry)
            self.passages += 1
            if self.passages % _PROGRESS_EVERY == 0:
                self._report()

    def _drop(self, file: str) -> None:
        self.dropped.add(file)
        self.files.pop(file, None)
        with self.index.guarded("Writing"):
            self.writer.delete_documents_by_term("file", file)

    def _report(self, files: int = 0) -> None:
        self.done += files
        if self.progress:
            self.progress(self.done, self.total, self.passages)


def _in_languages(entries: Iterable[Entry]) -> Iterator[tuple[Entry, str]]:
    """Yield each passage with the stemmer of its document's language.

    After many documents in one language, as in a corpus, only some are looked at until one is in another.
    """
    language, alike = "", 0
    for number, (_, group) in enumerate(groupby(entries, key=lambda each: each.document)):
        passages = iter(group)
        first = list(islice(passages, _SAMPLE))
        if alike < _ALIKE or number % _LOOKED_AT == 0:
            found = stemmed(language_of(" ".join(each.text for each in first)))
            language, alike = found, alike + 1 if found == language else 0
        yield from zip(chain(first, passages), repeat(language))


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
            add_searched(passage)
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
