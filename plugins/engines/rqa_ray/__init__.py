"""Engine `ray`: answers the rows of a batch on the machines of a Ray cluster.

Each worker is an actor with a session of its own. The command reads the input and alone writes the output, so that a
row of a lost worker is answered again and written once.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from robust_qa import InputError, MissingError, Registry, hookimpl

if TYPE_CHECKING:
    from rqa_rows import Job, Output

_LEAST_CHUNK, _MOST_CHUNK = 8, 256  # rows


class Ray:
    """Answers rows on the machines of a Ray cluster."""

    reaches_out = True  # the cluster gets questions, passages and keys

    @dataclass
    class Options:
        """The cluster, its workers, and the shards of the output."""

        address: str | None = None  # host:port of a running cluster, or "auto"; default: a cluster on this machine
        workers: Annotated[int, Meta(ge=1)] | None = None  # processes; default: as many as the cluster has room for
        cpus: Annotated[float, Meta(gt=0)] | None = None  # of each worker; default: 1, or less if there are too few
        gpus: Annotated[float, Meta(ge=0)] = 0.0  # of each worker
        format: Literal["jsonl", "parquet"] = "jsonl"  # of the shards
        shard_rows: Annotated[int, Meta(ge=1)] = 1000  # rows of the input in each shard

    def __init__(self, options: Options) -> None:
        self.options = options

    async def check(self, job: Job) -> None:
        """Raise MissingError without Ray, InputError without an output file."""
        if not (find_spec("ray") and find_spec("pyarrow") and find_spec("fsspec")):
            from robust_qa.kit import install_hint

            raise MissingError(
                "Engine 'ray' needs Ray, which is not installed.", hint=f"Install it: `{install_hint('ray')}`."
            )
        if job.out is None:
            raise InputError("Engine 'ray' cannot write to standard output.", hint="Add -o FILE.jsonl or -o FOLDER/.")

    def rows(self, source: str, column: str) -> Iterable[tuple[int, bytes]]:
        """Return the rows of a file, a folder or a URL."""
        from .source import Rows

        return Rows(source, column)

    def output(self, job: Job) -> AbstractContextManager[Output] | None:
        """Open the shards of a folder or a URL. None for a file, which the host writes."""
        from .shards import is_folder, opened

        assert job.out is not None
        return opened(job, self.options.format, self.options.shard_rows) if is_folder(job.out) else None

    async def run(self, rows: AsyncIterator[tuple[int, bytes]], job: Job) -> None:
        """Answer the rows on the cluster."""
        from .pool import Pool, connected, places

        options = self.options
        with connected(options.address):
            count, cpus = places(options.workers, options.cpus, options.gpus, most=job.recipe.max_workers)
            if options.workers and count < options.workers:
                job.say(f"workers: {count}, because --jobs or `concurrency` allows no more")
            chunk_rows = min(max(job.jobs // count, _LEAST_CHUNK), _MOST_CHUNK)
            await Pool(rows, job, count=count, cpus=cpus, gpus=options.gpus, chunk_rows=chunk_rows).run()


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.engine("ray", "rqa_ray:Ray", summary="answers on the machines of a Ray cluster")
