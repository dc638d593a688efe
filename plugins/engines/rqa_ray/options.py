"""Options of the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta


@dataclass
class Options:
    """The cluster, its workers, and the shards of the output."""

    address: str | None = None  # host:port of a running cluster, or "auto"; default: a cluster on this machine
    workers: Annotated[int, Meta(ge=1)] | None = None  # processes; default: as many as the cluster has room for
    cpus: Annotated[float, Meta(gt=0)] | None = None  # of each worker; default: 1, or less if there are too few
    gpus: Annotated[float, Meta(ge=0)] = 0.0  # of each worker
    format: Literal["jsonl", "parquet"] = "jsonl"  # of the shards
    shard_rows: Annotated[int, Meta(ge=1)] = 1000  # rows of the input in each shard
