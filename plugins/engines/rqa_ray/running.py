"""A run: read the rows, share them out to the workers, write their answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from robust_qa.batch import bare, survey

from .cluster import connected, places
from .options import Options
from .output import Output, opened
from .pool import Chunk, Pool
from .rows import Rows

if TYPE_CHECKING:
    from robust_qa.batch import Job, Tally


_LEAST_CHUNK, _MOST_CHUNK = 8, 256  # rows


async def run(job: Job, options: Options) -> None:
    """Answer the rows of the job on a cluster."""
    rows = Rows(job.source, job.column)
    found = survey(row for _, row in rows)
    job.plan(found.first, found.rows)
    state = job.state(found)
    with (
        opened(job, state, form=options.format, shard_rows=options.shard_rows) as output,
        connected(options.address),
    ):
        count, cpus = places(options, job.recipe.max_workers)
        if options.workers and count < options.workers:
            job.say(f"workers: {count}, because --jobs or `concurrency` allows no more")
        rows_of_chunk = min(max(2 * job.recipe.jobs(0, count), _LEAST_CHUNK), _MOST_CHUNK)
        waiting = chunks(rows, output, job.tally, shard_rows=options.shard_rows, rows_of_chunk=rows_of_chunk)
        pool = Pool(
            job,
            waiting,
            lambda chunk, lines: output.add(chunk.shard, lines),
            count=count,
            cpus=cpus,
            gpus=options.gpus,
        )
        async with job.supervised(pool, size=found.size, resumable=True):
            await pool.run()


def chunks(
    rows: Iterable[tuple[int, bytes]], output: Output, tally: Tally, *, shard_rows: int, rows_of_chunk: int
) -> Iterator[Chunk]:
    """Yield the rows without an answer in chunks. Count blank lines and rows with an answer."""
    for shard, group in groupby(rows, key=lambda row: (row[0] - 1) // shard_rows):
        read = list(group)
        given = [(number, line) for number, line in read if bare(line)]
        sizes = {number: len(line) for number, line in read}
        blank = len(read) - len(given)
        tally.blank += blank
        tally.finished_bytes += sum(len(line) for _, line in read if not bare(line))
        missing = output.missing(shard, given)
        tally.done += len(given) - len(missing)
        tally.done_bytes += sum(sizes[number] for number, _ in given) - sum(sizes[number] for number, _ in missing)
        for start in range(0, len(missing), rows_of_chunk):
            part = missing[start : start + rows_of_chunk]
            yield Chunk(shard, part, sum(sizes[number] for number, _ in part))
