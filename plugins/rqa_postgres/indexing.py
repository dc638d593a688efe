"""Updates an index with files, each in a transaction of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robust_qa import IndexReport
from robust_qa.documents import Entry, FileReader, Unreadable, check_known, find, is_gone, removed, shown
from robust_qa.kit import with_title

from .index import Index, storable, written

if TYPE_CHECKING:
    from psycopg import Connection

    from robust_qa import EmbedderHandle, IndexProgress

_BATCH = 256  # passages embedded and copied at once
_COPY = "copy {passages} (file, id, title, text, source, date, vector) from stdin"


async def update(
    index: Index,
    paths: Sequence[Path],
    reader: FileReader,
    embedder: EmbedderHandle,
    *,
    language: str,
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
    found = find(path for path in paths if not is_gone(path))
    counts = dict.fromkeys(("added", "changed", "removed", "unchanged"), 0)
    for file in removed(stamps, paths, found):
        with index.database.writing() as connection:
            _delete(index, connection, file)
        counts["removed"] += 1
    passages = 0
    for done, path in enumerate(found.files, start=1):
        file, known = shown(path), stamps.get(shown(path))
        try:
            stamp = reader.stamp(path)
        except OSError as error:  # possibly temporary, so its passages stay
            found.skipped.append((file, f"it cannot be opened: {error.strerror}"))
            continue
        if stamp and stamp == known:
            counts["unchanged"] += 1
            continue
        with index.database.writing() as connection:
            index.lock(connection, file)
            _delete(index, connection, file)
            try:
                with connection.transaction():
                    entries = reader.entries(path, found.skipped)
                    passages += await _add(index, connection, file, stamp, entries, embedder=embedder)
                counts["changed" if known else "added"] += 1
            except (OSError, Unreadable) as error:
                found.skipped.append((file, str(error)))
                counts["removed"] += known is not None
        if progress:
            progress(done, len(found.files), passages)
    with index.database.writing() as connection:
        passages = index.finish(connection)
    return IndexReport(**counts, passages=passages, skipped=tuple(found.skipped), folder="")


async def _add(
    index: Index,
    connection: Connection[Any],
    file: str,
    stamp: str,
    entries: Iterator[Entry],
    *,
    embedder: EmbedderHandle,
) -> int:
    """Write the passages of a file. Return their number. Raises Unreadable if there are none."""
    connection.execute(index.statement("insert into {files} values (%s, %s)"), [storable(file), stamp])
    count = 0
    while batch := list(islice(entries, _BATCH)):
        vectors = await embedder.embed([with_title(entry.title, entry.text) for entry in batch])
        with connection.cursor() as cursor, cursor.copy(index.statement(_COPY)) as copy:
            for entry, vector in zip(batch, vectors, strict=True):
                texts = file, entry.id, entry.title, entry.text, entry.source, entry.date
                copy.write_row([*map(storable, texts), written(vector)])
        count += len(batch)
    if not count:
        raise Unreadable("it has no text")
    return count


def _delete(index: Index, connection: Connection[Any], file: str) -> None:
    connection.execute(index.statement("delete from {files} where file = %s"), [storable(file)])
