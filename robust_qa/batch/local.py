"""The engine `local`: all questions in one process, from a stream to a stream or a file."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import msgspec

from .. import stdout
from ..errors import InputError
from ..protocols import Job, Worker
from ..types import Survey
from .conversion import converted
from .formats import format_of
from .output import Stream
from .resume import survey_file
from .run import Batch, Output
from .tables import InputRows

_STDIN = 0


class Local:
    """Answers the rows in this process."""

    async def run(self, job: Job, worker: Worker | None = None) -> None:
        """Answer the rows of the job, with `worker` instead of the job's own if there is one."""
        with open_input(job.source) as (descriptor, kind):
            resumable = is_file(job.out)
            # Before any row is read.
            survey = survey_file(descriptor, job.source, job.column) if resumable else Survey()
            rows = InputRows(descriptor, job.source, job.column)
            job.plan(await rows.peek(), survey.rows, kind)

            async def answer(output: Output, **how: Any) -> None:
                batch = Batch(
                    worker or job.worker, rows, output, jobs=job.jobs, ordered=job.ordered, tally=job.tally, **how
                )
                size = None if rows.is_table else _size(descriptor)  # the rows of a table repeat its header
                async with job.supervised(batch, size=size, resumable=resumable):
                    await batch.run()

            if not resumable:
                with _stream(job) as stream:
                    await answer(stream, blocking=stream.blocking)
                return
            with job.file(job.state(survey)) as file:
                await answer(file, done=file.has)
                if job.resume and job.ordered:
                    file.put_in_order()


def is_file(out: str | None) -> bool:
    """Whether the output is a regular file, not a pipe or a device."""
    return out is not None and (Path(out).is_file() or not Path(out).exists())


@contextmanager
def open_input(source: str) -> Iterator[tuple[int, str]]:
    """The descriptor of an input file or of standard input, and what its rows of JSON are. Raises InputError.

    A workbook, or JSON of another tool, is converted to a file of JSON lines first.
    """
    if source == "-":
        yield _STDIN, "JSON lines"
        return
    try:
        file = Path(source).open("rb", buffering=0)  # noqa: SIM115  (closed below)
    except OSError as error:
        raise InputError(f"Cannot read {source}: {error.strerror}.") from error
    with file, TemporaryFile() as rows:
        found = converted(Path(source)) if is_file(source) else None
        for row in found.rows if found else ():
            rows.write(msgspec.json.encode(row) + b"\n")
        rows.flush()
        os.lseek(rows.fileno(), 0, os.SEEK_SET)
        yield (rows.fileno(), found.kind) if found else (file.fileno(), "JSON lines")


def _size(descriptor: int) -> int | None:
    status = os.fstat(descriptor)
    return status.st_size if stat.S_ISREG(status.st_mode) else None


@contextmanager
def _stream(job: Job) -> Iterator[Stream]:
    if job.out is not None and (form := format_of(job.out)) != "jsonl":
        raise InputError(f"Cannot write {form} to {job.out}, which is not a regular file.")
    if job.out is None:
        yield Stream(stdout.descriptor(), "standard output")
    elif job.resume:
        raise InputError(f"Cannot resume: {job.out} is not a regular file.")
    else:
        try:
            file = Path(job.out).open("ab", buffering=0)  # noqa: SIM115  (closed below)
        except OSError as error:
            raise InputError(f"Cannot write {job.out}: {error.strerror}.") from error
        with file:
            yield Stream(file.fileno(), job.out)
