"""Engine `ray`: answers the rows of a batch on the machines of a Ray cluster.

Each worker is an actor with a session of its own. The command reads the input and alone writes the output, so that a
row of a lost worker is answered again and written once.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from robust_qa import MissingError

if TYPE_CHECKING:
    from robust_qa.batch import Job


class Ray:
    """Answers rows on the machines of a Ray cluster."""

    reaches_out = True  # the cluster gets questions, passages and keys

    @dataclass
    class Options:
        address: str | None = None  # host:port of a running cluster, or "auto"; default: a cluster on this machine
        workers: Annotated[int, Meta(ge=1)] | None = None  # processes; default: as many as the cluster has room for
        cpus: Annotated[float, Meta(gt=0)] | None = None  # of each worker; default: 1, or less if there are too few
        gpus: Annotated[float, Meta(ge=0)] = 0.0  # of each worker
        format: Literal["jsonl", "parquet"] = "jsonl"  # of the shards
        shard_rows: Annotated[int, Meta(ge=1)] = 1000  # rows of the input in each shard

    def __init__(self, options: Options) -> None:
        self.options = options

    async def run(self, job: Job) -> None:
        """Answer the rows of the job."""
        if not (find_spec("ray") and find_spec("pyarrow") and find_spec("fsspec")):
            from robust_qa.kit import install_hint

            raise MissingError(
                "Engine 'ray' needs Ray, which is not installed.", hint=f"Install it: `{install_hint('ray')}`."
            )
        from .running import run

        await run(job, self.options)
