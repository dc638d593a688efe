"""The conformance checks of formats of files. They need an example file."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from robust_qa import FileFormat
from robust_qa.answering import in_daemon
from rqa_files import Call, Document, File, TemporarilyUnreadable, Unreadable, format_of, isolated

from .suite import Skipped, Subject, Suite, expect

SUITE = Suite()
LIMIT = 200_000_000  # bytes of a file
NOISE = bytes(range(256)) * 64


@SUITE.behaviour("its functions can be imported")
async def _shape(subject: Subject) -> None:
    for target in filter(None, (subject.component.read, subject.component.opens)):
        expect(callable(subject.component.loaded(target)), f"{target} is not a function")


@SUITE.behaviour("it recognises the example file")
async def _recognised(subject: Subject) -> None:
    found = format_of(_opened(_example(subject), subject.component))
    why = (
        "the file is binary, so the format needs `magic`" if found is None else "check `suffixes`, `magic` and `opens`"
    )
    expect(found == subject.component, why)


@SUITE.behaviour("it reads the file as documents with text and ids of their own")
async def _documents(subject: Subject) -> None:
    documents = await _read(subject, _example(subject))
    expect(bool(documents), "it returned no document")
    for document in documents:
        expect(isinstance(document, Document), f"it returned {type(document).__name__}, not Document")
        expect(bool(document.text.strip()), f"the document {document.id!r} has no text")
    ids = [document.id for document in documents]
    again = next((id for id in ids if ids.count(id) > 1), None)
    expect(again is None, f"two documents have the id {again!r}; name the `part` of each in `file.document`")


@SUITE.behaviour("the lines of its documents are lines of the file, or 0")
async def _lines(subject: Subject) -> None:
    path = _example(subject)
    try:
        with _opened(path, subject.component).lines() as stream:
            last = sum(1 for _ in stream)
    except Unreadable:
        raise Skipped("the file is not text") from None
    for document in await _read(subject, path):
        if document.place:  # the lines are those of a part, such as rows
            continue
        lines = [line for block in document.blocks for line in block.line_numbers]
        wrong = next((line for line in lines if not 0 <= line <= last), None)
        expect(wrong is None, f"{document.id!r} has line {wrong}, and the file has {last} lines")


@SUITE.behaviour("it reads the file in a worker process as it does here")
async def _in_worker(subject: Subject) -> None:
    path = _example(subject)
    here = await asyncio.wrap_future(in_daemon(lambda: list(documents(path, subject.component))))
    expect(here == await _read(subject, path), "a worker returns other documents")


@SUITE.behaviour("a damaged file neither crashes it nor stops it for long")
async def _damaged(subject: Subject) -> None:
    failures = []
    with TemporaryDirectory(prefix="rqa-format-") as folder:
        for case, copy in _damaged_copies(_example(subject), Path(folder)):
            if format_of(_opened(copy, subject.component)) != subject.component:
                continue
            try:
                await _read(subject, copy)
            except TemporarilyUnreadable as error:
                failures.append(f"{case}: {error}")
            except (OSError, Unreadable):
                pass  # it cannot be read, and the user gets the reason
    expect(not failures, "; ".join(failures))


def _damaged_copies(path: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield descriptions and paths of damaged files, each in the place of the last."""
    content, copy = path.read_bytes(), folder / path.name
    cases = {
        "an empty file": b"",
        "the first half of the file": content[: len(content) // 2],
        "the file without its middle": content[: len(content) // 3] + content[2 * len(content) // 3 :],
        "its beginning and then noise": content[:64] + NOISE,
        "its beginning and then one long word": content[:64] + b"a" * 1_000_000,
    }
    for case, damaged in cases.items():
        copy.write_bytes(damaged)
        yield case, copy


def _example(subject: Subject) -> Path:
    if subject.file is None:
        raise Skipped("this needs an example file")
    return subject.file


def _opened(path: Path, format: FileFormat) -> File:
    return File(path, LIMIT, formats=(format,))


async def _read(subject: Subject, path: Path) -> list[Any]:
    """Read the file in a worker process. Raises OSError and Unreadable."""
    call = Call(path, documents, (path, subject.component))
    return await asyncio.wrap_future(in_daemon(lambda: list(isolated(call))))


def documents(path: Path, format: FileFormat) -> Iterator[Any]:
    """Yield the documents of a file. Runs in a worker process."""
    yield from format.loaded(format.read)(_opened(path, format), lambda place, reason: None)
