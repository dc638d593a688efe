"""The workers of a run: actors of a Ray cluster, each with one session, that answer chunks of rows."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import ray
from ray.exceptions import RayError, RayTaskError

from robust_qa import PluginError, RqaError, UnavailableError
from rqa_rows import Result

if TYPE_CHECKING:
    from rqa_rows import Job, Recipe, Worker

Row = tuple[int, bytes]
_CONNECT = 10.0  # seconds
_STORE = 100_000_000  # bytes of shared memory of a local cluster: a chunk has some kilobytes
_CLOSING = 5.0  # seconds that workers get to close their sessions
_MOST_LOSSES = 3  # workers that one chunk may end
_AT_ONCE = 2  # chunks of each worker, so that it does not run dry at the end of one
_WAIT = 30.0  # seconds; if no worker starts in this time, the user is told


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


def places(workers: int | None, cpus: float | None, gpus: float, *, most: int) -> tuple[int, float]:
    """Return the number of workers and the CPUs of each, as far as asked for. `most`: the number that limits allow."""
    total = ray.cluster_resources()
    available = max(total.get("CPU", 1.0), 1.0)
    room = int(available / (cpus or 1.0))
    if gpus:
        room = min(room, int(total.get("GPU", 0.0) / gpus))
    count = max(min(workers or room, most), 1)
    # Rounded down: Ray counts in ten-thousandths.
    return count, cpus or min(1.0, int(available / count * 1000) / 1000)


class Actor:
    """A worker process: opens a session once and answers chunks of rows with it."""

    def __init__(self) -> None:
        self._stack = AsyncExitStack()
        self._worker: Worker

    async def open(self, recipe: Recipe, number: int, count: int) -> RqaError | None:
        """Open the session. Return why this machine cannot answer, or None."""
        try:
            self._worker = await self._stack.enter_async_context(recipe.open(number, count))
        except RqaError as error:
            return _portable(error)
        return None

    async def answer(self, rows: list[Row]) -> list[Result]:
        """Return the result of each row."""
        return await asyncio.gather(*(self._worker.answer(number, row) for number, row in rows))

    async def close(self) -> str:
        """Close the session. Return its warnings."""
        await self._stack.aclose()
        return self._worker.warnings()


class _Opened:
    """An actor with an open session. `error`: why it was lost."""

    def __init__(self, actor: Any) -> None:
        self.actor = actor
        self.error: RayError | None = None
        self.lost = asyncio.Event()

    def lose(self, error: RayError) -> None:
        self.error = self.error or error
        self.lost.set()


class Pool:
    """Answers `rows` in chunks with `count` workers, and hands each result to the job once.

    A lost worker is replaced, and its chunks go to another one. Each worker has a fixed share of the limits, so no
    call waits for another machine. The recipe goes to an actor as an argument of a method: Ray keeps those of the
    constructor, and it contains keys.
    """

    def __init__(
        self, rows: AsyncIterator[Row], job: Job, *, count: int, cpus: float, gpus: float, chunk_rows: int
    ) -> None:
        self._rows = rows
        self._job = job
        self._count = count
        self._chunk_rows = chunk_rows
        resources = {"num_cpus": cpus, "num_gpus": gpus, "max_restarts": 0, "max_task_retries": 0}
        self._actor = ray.remote(Actor).options(**resources, scheduling_strategy="SPREAD")
        # A worker is in it once for each chunk it has room for, first those that have none: place, order, worker.
        self._idle: asyncio.PriorityQueue[tuple[int, int, _Opened]] = asyncio.PriorityQueue()
        self._order = itertools.count()
        self._open: set[_Opened] = set()
        self._reading = asyncio.Lock()
        self._losses = 0  # since a chunk was answered

    async def run(self) -> None:
        """Answer all rows. Raises UnavailableError if workers end again and again."""
        feeding = [asyncio.create_task(self._feed()) for _ in range(_AT_ONCE * self._count)]
        keeping = [asyncio.create_task(self._keep(number)) for number in range(self._count)]
        waiting = asyncio.create_task(self._tell_if_waiting())
        try:
            ends: set[asyncio.Future[Any]] = {asyncio.gather(*feeding), *keeping}
            done, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            for end in done:
                end.result()
            await self._close()
        finally:
            for task in (*feeding, *keeping, waiting):
                task.cancel()
            await asyncio.gather(*feeding, *keeping, waiting, return_exceptions=True)

    async def _keep(self, number: int) -> None:
        """Keep worker `number` open, replacing it whenever it is lost."""
        while True:
            worker = _Opened(self._actor.remote())
            try:
                if error := await worker.actor.open.remote(self._job.recipe, number, self._count):
                    raise error
                self._open.add(worker)
                for place in range(_AT_ONCE):
                    self._idle.put_nowait((place, next(self._order), worker))
                await worker.lost.wait()
            except RayTaskError as error:
                raise _failed(error) from error
            except RayError as error:
                worker.lose(error)
            finally:
                self._open.discard(worker)
                with suppress(Exception):  # it is gone already
                    ray.kill(worker.actor)
            self._losses += 1
            if self._losses > _MOST_LOSSES * self._count:
                reason = str(worker.error).strip().partition("\n")[0].rstrip(".:")
                raise UnavailableError(f"The workers end before they answer: {reason}.")
            self._job.say(f"worker {number + 1} was lost ({type(worker.error).__name__}); its rows are answered again")

    async def _feed(self) -> None:
        """Give one chunk after the other to the worker that has room for it first."""
        while chunk := await self._read():
            for result in await self._answered(chunk):
                self._job.take(result)

    async def _answered(self, chunk: list[Row]) -> list[Result]:
        for _ in range(_MOST_LOSSES):
            place, _, worker = await self._idle.get()
            while worker.lost.is_set():
                place, _, worker = await self._idle.get()
            try:
                results: list[Result] = await worker.actor.answer.remote(chunk)
            except RayTaskError as error:
                raise _failed(error) from error
            except RayError as error:
                worker.lose(error)
                continue
            self._losses = 0
            self._idle.put_nowait((place, next(self._order), worker))
            return results
        raise UnavailableError(
            f"{_MOST_LOSSES} workers ended while they answered rows {chunk[0][0]} to {chunk[-1][0]}.",
            hint="One of these rows may need more memory than a worker has. Answer them with --engine local.",
        )

    async def _read(self) -> list[Row]:
        """The next rows of the input, none at its end."""
        chunk: list[Row] = []
        async with self._reading:
            async for row in self._rows:
                chunk.append(row)
                if len(chunk) == self._chunk_rows:
                    break
        return chunk

    async def _close(self) -> None:
        """Close the sessions, and print their warnings once."""
        closing = [asyncio.wrap_future(worker.actor.close.remote().future()) for worker in self._open]
        done, _ = await asyncio.wait(closing, timeout=_CLOSING) if closing else (set(), set())
        said = (task.result().splitlines() for task in done if task.exception() is None)
        for warning in dict.fromkeys(line for lines in said for line in lines if line):
            self._job.say(warning)

    async def _tell_if_waiting(self) -> None:
        waited = 0.0
        while waited < _WAIT:
            await asyncio.sleep(1.0)
            waited = 0.0 if self._open else waited + 1.0
        self._job.say("waiting: the cluster has no room for a worker. Ask for fewer CPUs or GPUs for each worker")


def _failed(error: RayTaskError) -> PluginError:
    return PluginError(f"A worker failed: {error.cause!r}.")


def _portable(error: RqaError) -> RqaError:
    """Return an error that can be pickled: a class of a plugin may not be."""
    if type(error).__module__ == RqaError.__module__:
        return error
    return RqaError(error.message, hint=error.hint, general=error.general)
