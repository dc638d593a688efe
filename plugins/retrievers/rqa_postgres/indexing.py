"""Updates an index with files, each in a transaction of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robust_qa import IndexReport
from robust_qa.kit import with_title
from rqa_files import (
    Entry,
    FileReader,
    Rules,
    Skipped,
    TemporarilyUnreadable,
    Unreadable,
    check_known,
    find,
    is_gone,
    removed,
    shown,
)

from .index import Index, storable, written

if TYPE_CHECKING:
    from psycopg import Connection

    from robust_qa import EmbedderHandle, IndexProgress

_BATCH = 256  # passages embedded and copied at once
_COPY = "copy {passages} (file, id, title, text, source, date, place, vector) from stdin"


async def update(
    index: Index,
    paths: Sequence[Path],
    reader: FileReader,
    embedder: EmbedderHandle,
    *,
    language: str,
    rules: Rules,
    progress: IndexProgress | None = None,
) -> IndexReport:
    """Update `index` with the files at and under `paths`. If it is interrupted, the finished files stay.

    Raises InputError for a path that neither exists nor was indexed, and ConfigError if the index has vectors of
    another embedder or another language.
    """
    check_known(paths, index.stamps())
    width = (await embedder.embed(["width"])).shape[1]
    with index.database.writing() as connection:
        index.create(connection, embedder.identity, width, language)
    stamps = index.stamps()
    found = find((path for path in paths if not is_gone(path)), formats=reader.formats, rules=rules)
    found.report_kept(stamps)
    outcomes: Counter[str] = Counter()
    for file in removed(stamps, paths, found):
        with index.database.writing() as connection:
            index.delete(connection, file)
        outcomes["removed"] += 1
    passages = 0
    for done, path in enumerate(found.files, start=1):
        try:
            stamp = reader.stamp(path)
            if stamp == stamps.get(shown(path)):
                outcomes["unchanged"] += 1
            else:
                outcome, count = await _replace(index, path, stamp, reader, embedder=embedder, skipped=found.skipped)
                outcomes[outcome] += 1
                passages += count
        except (OSError, TemporarilyUnreadable) as error:
            why = f"it cannot be read: {error.strerror}" if isinstance(error, OSError) else str(error)
            stays = ", so its old passages stay in the index and still answer" if shown(path) in stamps else ""
            found.skipped.append((shown(path), why + stays))
        if progress:
            progress(done, len(found.files), passages)
    with index.database.writing() as connection:
        passages = index.finish(connection)
    return IndexReport(
        outcomes["added"],
        outcomes["changed"],
        outcomes["removed"],
        outcomes["unchanged"],
        passages,
        tuple(found.skipped),
    )


async def _replace(
    index: Index, path: Path, stamp: str, reader: FileReader, *, embedder: EmbedderHandle, skipped: Skipped
) -> tuple[str, int]:
    """Replace the passages of a file. Return what became of the file, and the number of its passages."""
    file = shown(path)
    with index.database.writing() as connection:
        known = index.locked(connection, file)
        if known == stamp:  # another process was faster
            return "unchanged", 0
        index.delete(connection, file)
        try:
            with connection.transaction():
                index.add(connection, file, stamp)
                count = await _copy(index, connection, file, reader.entries(path, skipped), embedder)
        except TemporarilyUnreadable:
            raise  # with the transaction, so that the old passages stay
        except Unreadable as error:
            skipped.append((file, str(error)))
            return ("removed" if known else "skipped"), 0
    return ("changed" if known else "added"), count


async def _copy(
    index: Index, connection: Connection[Any], file: str, entries: Iterator[Entry], embedder: EmbedderHandle
) -> int:
    """Write the passages of a file. Return their number. Raises Unreadable if there are none."""
    count = 0
    while batch := list(islice(entries, _BATCH)):
        vectors = await embedder.embed([with_title(entry.title, entry.text) for entry in batch])
        with connection.cursor() as cursor, cursor.copy(index.statement(_COPY)) as copy:
            for entry, vector in zip(batch, vectors, strict=True):
                texts = entry.id, entry.title, entry.text, entry.source, entry.date, entry.place
                copy.write_row([file, *map(storable, texts), written(vector)])
        count += len(batch)
    if not count:
        raise Unreadable("it has no text")
    return count
