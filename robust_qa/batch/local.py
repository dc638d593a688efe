"""The engine `local`: all questions in one process, from a stream to a stream or a file."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .. import stdout
from ..documents.lines import Lines
from ..errors import InputError
from ..protocols import Job
from .output import OutFile, Stream
from .resume import surveyed
from .run import Batch

_STDIN = 0


class Local:
    """Answers the rows in this process."""

    async def run(self, job: Job) -> None:
        """Answer the rows of the job."""
        with open_input(job.source) as descriptor:
            keeps = is_file(job.out)
            digest, lacking = surveyed(descriptor) if keeps else (None, False)  # before any row is read
            lines = Lines(descriptor)
            job.plan(await lines.peek())
            with job.file(job.state(digest, lacking=lacking)) if keeps else _stream(job) as output:
                file = output if isinstance(output, OutFile) else None
                done = file.has if file else None
                how: dict[str, Any] = {"jobs": job.jobs, "ordered": job.ordered, "tally": job.tally}
                batch = Batch(job.worker, lines, output, done=done, **how)
                status = os.fstat(descriptor)
                size = status.st_size if stat.S_ISREG(status.st_mode) else None
                async with job.attended(batch, size=size, resumable=file is not None):
                    await batch.run()
                if file and job.resume and job.ordered:
                    file.put_in_order()


def is_file(out: str | None) -> bool:
    """Whether the output is a regular file, not a pipe or a device."""
    return out is not None and (Path(out).is_file() or not Path(out).exists())


@contextmanager
def open_input(source: str) -> Iterator[int]:
    """The descriptor of an input file, or of standard input. Raises InputError."""
    if source == "-":
        yield _STDIN
        return
    try:
        file = Path(source).open("rb", buffering=0)  # noqa: SIM115  (closed below)
    except OSError as error:
        raise InputError(f"Cannot read {source}: {error.strerror}.") from error
    with file:
        yield file.fileno()


@contextmanager
def _stream(job: Job) -> Iterator[Stream]:
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
