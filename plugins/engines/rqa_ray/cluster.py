"""The connection to a Ray cluster."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import ray

from robust_qa import UnavailableError

from .options import Options

_CONNECT = 10.0  # seconds
_STORE = 100_000_000  # bytes of shared memory of a local cluster: a chunk has some kilobytes


@contextmanager
def connected(address: str | None) -> Iterator[None]:
    """Connect to the cluster at `address`, or start one on this machine that ends with the run."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # Ray's coming default; without it Ray warns
    logging.getLogger("ray").setLevel(logging.ERROR)
    own = {"include_dashboard": False, "object_store_memory": _STORE} if address is None else {}
    try:
        _reach(address)
        ray.init(
            address or "local",
            log_to_driver=False,
            configure_logging=False,
            logging_level=logging.ERROR,
            **own,
        )
    except (OSError, ValueError, RuntimeError) as error:
        where = f"Cannot connect to the Ray cluster {address}" if address else "Cannot start Ray on this machine"
        raise UnavailableError(
            f"{where}: {str(error).strip().splitlines()[0]}",
            hint="Check the address with `ray status --address HOST:PORT`.",
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _reach(address: str | None) -> None:
    """Raise OSError if nothing listens at HOST:PORT: Ray would wait for minutes."""
    host, _, port = (address or "").rpartition(":")
    if host and port.isdecimal() and "/" not in host:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT).close()


def places(options: Options, most: int) -> tuple[int, float]:
    """Return the number of workers and the CPUs of each. `most` is the number that the limits allow."""
    total = ray.cluster_resources()
    cpus = max(total.get("CPU", 1.0), 1.0)
    room = int(cpus / (options.cpus or 1.0))
    if options.gpus:
        room = min(room, int(total.get("GPU", 0.0) / options.gpus))
    count = max(min(options.workers or room, most), 1)
    # Rounded down: Ray counts in ten-thousandths.
    return count, options.cpus or min(1.0, int(cpus / count * 1000) / 1000)
