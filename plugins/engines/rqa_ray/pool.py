"""The workers of a run: actors, each with one session, that answer chunks of rows."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ray
from ray.exceptions import RayError, RayTaskError

from robust_qa import PluginError, RqaError, UnavailableError
from robust_qa.batch import Tally

if TYPE_CHECKING:
    from robust_qa.batch import Job, Recipe, Worker

GRACE = 5.0  # seconds that rows in flight get to finish after an interrupt
_MOST_LOSSES = 3  # workers that one chunk may end
_AT_ONCE = 2  # chunks of each worker, so that it does not run dry at the end of one
_WAIT = 30.0  # seconds; if no worker starts in this time, the user is told


@dataclass(slots=True)
class Chunk:
    """Rows of one shard that a worker answers together. `size` is their bytes of input."""

    shard: int
    rows: list[tuple[int, bytes]]
    size: int
    losses: int = 0


class Actor:
    """A worker process: opens a session once and answers chunks with it."""

    def __init__(self) -> None:
        self._stack = AsyncExitStack()
        self._worker: Worker
        self._slots: asyncio.Semaphore

    async def open(self, recipe: Recipe, number: int, count: int) -> RqaError | None:
        """Open the session. Return why this machine cannot answer, or None."""
        try:
            self._worker = await self._stack.enter_async_context(recipe.open(number, count))
        except RqaError as error:
            return _portable(error)
        self._slots = asyncio.Semaphore(recipe.jobs(number, count))
        return None

    async def answer(self, rows: list[tuple[int, bytes]]) -> tuple[list[bytes | None], Tally, RqaError | None]:
        """Return the output line of each row, their counts, and why every further row would fail."""
        tally = Tally()
        lines = await asyncio.gather(*(self._answer(number, line, tally) for number, line in rows))
        trouble = self._worker.trouble
        return lines, tally, _portable(trouble) if trouble else None

    async def close(self) -> str:
        """Close the session. Return its warnings."""
        await self._stack.aclose()
        return self._worker.warnings()

    async def _answer(self, number: int, line: bytes, tally: Tally) -> bytes | None:
        async with self._slots:
            if self._worker.trouble:
                return None
            return await self._worker.answer(number, line, tally)


class Pool:
    """Answers `chunks` with `count` workers and calls `deliver` with each chunk and its lines, once.

    A lost worker is replaced, and another worker answers its chunks. Each worker has a fixed share of the limits, so
    no call waits for another machine. The recipe goes to an actor as an argument of a method: Ray keeps those of the
    constructor, and it contains keys.
    """

    def __init__(
        self,
        job: Job,
        chunks: Iterator[Chunk],
        deliver: Callable[[Chunk, list[bytes | None]], None],
        *,
        count: int,
        cpus: float,
        gpus: float,
    ) -> None:
        self.stopped = False
        self.trouble: RqaError | None = None
        self._job = job
        self._chunks: Iterator[Chunk] | None = chunks
        self._deliver = deliver
        self._count = count
        resources = {"num_cpus": cpus, "num_gpus": gpus, "max_restarts": 0, "max_task_retries": 0}
        self._actor = ray.remote(Actor).options(**resources, scheduling_strategy="SPREAD")
        self._again: deque[Chunk] = deque()  # of lost workers
        self._in_flight = 0
        self._changed = asyncio.Condition()
        self._over = asyncio.Event()
        self._open: set[asyncio.Task[None]] = set()  # those whose worker is open
        self._error: Exception | None = None
        self._losses = 0  # since a chunk was delivered
        self._warnings: dict[str, None] = {}

    async def run(self) -> None:
        """Answer all chunks. After `stop`, finish those in flight."""
        self._job.tally.began = time.monotonic()
        tasks = [asyncio.create_task(self._keep(number)) for number in range(self._count)]
        waiting = asyncio.create_task(self._tell_if_waiting())
        try:
            await self._over.wait()
            if self._open and not self.stopped:
                await asyncio.wait(self._open, timeout=GRACE)  # they close their sessions
        finally:
            for task in (*tasks, waiting):
                task.cancel()
            await asyncio.gather(*tasks, waiting, return_exceptions=True)
        if self._error is not None:
            raise self._error
        for warning in self._warnings:
            self._job.say(warning)

    def stop(self) -> None:
        """Start no more chunks, and give those in flight GRACE seconds. A second call ends them at once."""
        loop = asyncio.get_running_loop()
        loop.call_later(0.0 if self.stopped else GRACE, self._over.set)
        self.stopped = True
        asyncio.ensure_future(self._notify())  # noqa: RUF006  (it ends at once)

    def save(self, seconds: float) -> None:
        """Do nothing: what is finished is on disk."""

    async def _keep(self, number: int) -> None:
        """Keep worker `number` at work, replacing it whenever it is lost."""
        try:
            while not self._over.is_set():
                try:
                    return await self._work(number)
                except RayTaskError as error:
                    raise PluginError(f"A worker failed: {error.cause!r}.") from error
                except RayError as error:
                    self._lost(number, error)
        except Exception as error:
            self._error = self._error or error
            self._over.set()

    async def _work(self, number: int) -> None:
        """Start worker `number` and give it chunks until there are no more."""
        actor, task = self._actor.remote(), asyncio.current_task()
        assert task is not None
        try:
            if error := await actor.open.remote(self._job.recipe, number, self._count):
                raise error
            self._open.add(task)
            results = await asyncio.gather(*(self._feed(actor) for _ in range(_AT_ONCE)), return_exceptions=True)
            for result in results:
                if isinstance(result, BaseException):
                    raise result
            self._warnings.update(dict.fromkeys(filter(None, (await actor.close.remote()).splitlines())))
        finally:
            self._open.discard(task)
            with suppress(Exception):  # it is gone already
                ray.kill(actor)

    async def _feed(self, actor: Any) -> None:
        """Give the worker one chunk after the other."""
        while (chunk := await self._next()) is not None:
            delivered = False
            try:
                lines, tally, trouble = await actor.answer.remote(chunk.rows)
                self._deliver(chunk, lines)
                delivered = True
                self._losses = 0
                tally.finished_bytes = chunk.size
                self._job.tally.add(tally)
                if trouble is not None:
                    self._end(trouble)
            except RayTaskError:
                raise
            except RayError:
                chunk.losses += 1
                if chunk.losses >= _MOST_LOSSES:
                    self._end(_deadly(chunk))
                raise
            finally:
                self._in_flight -= 1
                if not delivered:
                    self._again.append(chunk)
                await self._notify()

    async def _next(self) -> Chunk | None:
        """The next chunk. While others are in flight it waits, because their workers may be lost."""
        async with self._changed:
            while not self.stopped:
                chunk = self._again.popleft() if self._again else next(self._chunks, None) if self._chunks else None
                if chunk is not None:
                    self._in_flight += 1
                    return chunk
                self._chunks = None
                if not self._in_flight:
                    break
                await self._changed.wait()
            if not self._in_flight:
                self._over.set()
            return None

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    def _end(self, error: RqaError) -> None:
        if not self.stopped:
            self.trouble = error
            self.stop()

    def _lost(self, number: int, error: RayError) -> None:
        self._losses += 1
        if self._losses > _MOST_LOSSES * self._count:
            self._end(UnavailableError(f"The workers end before they answer: {_first_line(error)}."))
        elif not self.stopped and not self._over.is_set():
            self._job.say(f"worker {number + 1} was lost ({type(error).__name__}); its rows are answered again")

    async def _tell_if_waiting(self) -> None:
        waited = 0.0
        while waited < _WAIT:
            await asyncio.sleep(1.0)
            waited = 0.0 if self._open else waited + 1.0
        self._job.say("waiting: the cluster has no room for a worker. Ask for fewer CPUs or GPUs for each worker")


def _deadly(chunk: Chunk) -> RqaError:
    first, last = chunk.rows[0][0], chunk.rows[-1][0]
    return UnavailableError(
        f"{_MOST_LOSSES} workers ended while they answered rows {first} to {last}.",
        hint="One of these rows may need more memory than a worker has. Answer them with --engine local.",
    )


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".:")


def _portable(error: RqaError) -> RqaError:
    """Return an error that can be pickled: a class of a plugin may not be."""
    if type(error).__module__ == RqaError.__module__:
        return error
    return RqaError(error.message, hint=error.hint, general=error.general)
