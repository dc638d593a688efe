"""The run loop of a batch: several questions in flight, answers in input order, bounded memory."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from ..answering.toolbox import Toolbox
from ..calls.contract import cancellations, passes
from ..documents.lines import Lines
from ..errors import InputError, PluginError, RqaError, UnavailableError
from ..protocols import Worker
from ..types import Answer, Question, Tally, Usage
from .layout import bare
from .rows import Row, parse_row, unread_passages

GRACE = 5.0  # seconds that rows in flight get to finish after an interrupt
_MAX_GENERAL_FAILURES = 20  # in a row, or as many as there are jobs
_MAX_BUFFERED = 64 * 1024 * 1024  # bytes of finished rows that wait for a slower one before them


class Output(Protocol):
    """Where finished lines are written, one write each."""

    def write(self, lines: Sequence[bytes]) -> None: ...


def choose_for_first(
    choose: Callable[..., tuple[str, Toolbox]], line: bytes, say: Callable[[str], object]
) -> tuple[str, Toolbox]:
    """The result of `choose(has_passages=...)` for the first row.

    Calls `say` with a warning if the row's passages seem to be in another field.
    Raises ConfigError or MissingError if the configuration cannot answer the row.
    """
    try:
        row = parse_row(line, 1)
        if warning := unread_passages(row.fields):
            say(warning)
        has_passages = row.question().passages is not None
    except InputError:
        has_passages = True  # only this row fails, so check what every row needs
    return choose(has_passages=has_passages)


class Answerer:
    """Answers rows one at a time with `answer`, for a run with `jobs` questions in flight.

    `trouble`: why every further row would fail: the provider asks for too long a pause, or many rows in a row failed
    for a general reason. None while rows can be answered.
    """

    def __init__(
        self,
        answer: Callable[[Question], Awaitable[Answer]],
        *,
        jobs: int = 8,
        passages: bool = True,
        details: bool = False,
        trace: bool = False,
        warnings: Callable[[], str] = str,
    ) -> None:
        self.trouble: RqaError | None = None
        self.warnings = warnings
        self._ask = answer
        self._passages = passages
        self._details = details
        self._trace = trace
        self._most_failures = max(jobs, _MAX_GENERAL_FAILURES)
        self._general_failures = 0  # since a call succeeded

    async def answer(self, number: int, line: bytes, tally: Tally) -> bytes | None:
        """The output line. None if the run stops at this row, which a later run answers."""
        row, spent = Row(number, {}), Usage()
        try:
            row = parse_row(line, number)
            answer = await asyncio.ensure_future(self._ask(row.question()))  # a task, so that the worker survives it
            spent = answer.usage
            written = row.answered(answer, details=self._details, trace=self._trace, passages=self._passages)
        except RqaError as error:
            if isinstance(error, UnavailableError) and error.limited and error.general:
                tally.usage += error.usage
                self.trouble = self.trouble or error
                return None
            return self._fail(row, error, tally)
        except BaseException as error:  # one row must not end the run
            if passes(error) or isinstance(error, SystemExit):
                raise
            failure = PluginError(f"The row failed with {type(error).__name__}: {error}.")
            failure.usage = spent
            return self._fail(row, failure, tally)
        self._count(answer, tally)
        return written

    def _fail(self, row: Row, error: RqaError, tally: Tally) -> bytes:
        tally.failed += 1
        tally.usage += error.usage
        tally.unreadable += isinstance(error, InputError)
        tally.first_error = tally.first_error or f"row {row.number}: {error.message}"
        tally.general += error.general
        self._general_failures += error.general
        if self._general_failures >= self._most_failures:
            self.trouble = self.trouble or error
        return row.failed(error, passages=self._passages)

    def _count(self, answer: Answer, tally: Tally) -> None:
        calls = answer.usage.calls
        # An answer from the cache, or an abstention without a call, does not show that calls work.
        if answer.usage.cached < calls or (answer.text is not None and not calls):
            self._general_failures = 0
        if answer.text is None:
            tally.abstained += 1
        else:
            tally.answered += 1
        tally.usage += answer.usage


class Batch:
    """One run over `lines`, with `jobs` questions in flight. `worker` answers each of them.

    `ordered`: write answers in input order. A finished row waits for slower ones before it. New rows start until 64 MiB
    of finished rows wait. While a write waits, at most `window` rows are started and not yet written.
    `done`: whether an earlier run wrote the row, by line number and line.
    `blocking`: a write to `output` may wait for its reader, as for a pipe.

    The run stops if every further row would fail, and `trouble` says why.
    """

    def __init__(
        self,
        worker: Worker,
        lines: Lines,
        output: Output,
        *,
        jobs: int = 8,
        ordered: bool = True,
        done: Callable[[int, bytes], bool] | None = None,
        blocking: bool = False,
        tally: Tally | None = None,
    ) -> None:
        self.tally = tally or Tally()
        self.stopped = False
        self.trouble: RqaError | None = None
        self._worker = worker
        self._lines = lines
        self._output = output
        self._jobs = jobs
        self._ordered = ordered
        self._done = done or (lambda number, line: False)
        self._blocking = blocking

        self.window = max(8 * jobs, 64)
        self._number = 0  # of the line where the last row begins
        self._begun = 0
        self._ended = 0
        self._written = 0
        self._finished: dict[int, bytes] = {}  # by place in the output, not yet written
        self._buffered = 0  # bytes of those, and of those that are being written
        self._writing = False
        self._saving = threading.Lock()
        self._read_lock = asyncio.Lock()  # one worker reads at a time
        self._room = asyncio.Event()
        self._line_ready = asyncio.Event()
        self._ending = False
        self._workers: asyncio.Task[None] | None = None
        self._writer: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Answer every row. After `stop`, write the finished rows, with gaps for the missing ones.

        Raises InputError if the input cannot be read, RqaError if the output cannot be written, and BrokenPipeError
        if the output pipe is closed.
        """
        self.tally.began = time.monotonic()
        self._workers = asyncio.create_task(self._run_workers())
        self._writer = asyncio.create_task(self._write())
        try:
            await asyncio.wait({self._workers, self._writer}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._workers.cancel()  # the writer failed, or the run was cancelled
            await asyncio.wait({self._workers})
            self._ending = True
            self._line_ready.set()
            await asyncio.wait({self._writer})
        for task in (self._writer, self._workers):
            if not (self.stopped and task.cancelled()):
                task.result()

    def stop(self) -> None:
        """Start no more rows, and give those in flight GRACE seconds. A second call ends them at once."""
        grace = 0.0 if self.stopped else GRACE
        self.stopped = True
        self._lines.close()
        self._room.set()
        loop = asyncio.get_running_loop()
        if self._workers and self._writer:
            loop.call_later(grace, self._workers.cancel)
            loop.call_later(grace + 1.0, self._writer.cancel)

    async def _run_workers(self) -> None:
        workers = [asyncio.create_task(self._work()) for _ in range(self._jobs)]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    async def _work(self) -> None:
        # A component may swallow the cancellation of this task, so check for it.
        while not cancellations() and (row := await self._next()) is not None:
            place, line, number = row
            written = await self._worker.answer(number, line, self.tally)
            if self._worker.trouble and not self.stopped:
                self.trouble = self._worker.trouble
                self.stop()
            self.tally.finished_bytes += len(line) + 1
            if written is not None:
                self._finish(place, written)

    async def _next(self) -> tuple[int, bytes, int] | None:
        """The next row to answer: place in the output, line and line number. None if there is none left."""
        async with self._read_lock:
            while self._buffered > _MAX_BUFFERED or (self._writing and self._begun - self._written >= self.window):
                if self.stopped:
                    return None
                self._room.clear()
                await self._room.wait()
            while (line := await self._lines.next()) is not None:
                self._number = self._lines.number
                if not bare(line):
                    self.tally.blank += 1
                    self.tally.finished_bytes += len(line) + 1
                elif self._done(self._number, line):
                    self.tally.done += 1
                    self.tally.done_bytes += len(line) + 1
                else:
                    self._begun += 1
                    return self._begun - 1, line, self._number
            return None

    def _finish(self, place: int, line: bytes) -> None:
        self._finished[place if self._ordered else self._ended] = line
        self._ended += 1
        self._buffered += len(line)
        self._line_ready.set()

    async def _write(self) -> None:
        # Its own thread: all threads of the session may be busy.
        thread = ThreadPoolExecutor(1, thread_name_prefix="rqa-output") if self._blocking else None
        while not self._ending:
            await self._line_ready.wait()
            self._line_ready.clear()
            while lines := await self._put(self._due, thread):
                self._written += len(lines)
                self._buffered -= sum(map(len, lines))
                self._room.set()
        await self._put(self._rest, thread)

    def save(self, seconds: float) -> None:
        """Write all finished rows to a file now, before the process ends. Afterwards this run writes nothing.

        Gives up after `seconds`. Does nothing for a pipe, because the write could wait forever.
        """
        if not self._blocking and self._saving.acquire(timeout=seconds):  # never released
            self._output.write(self._rest())

    def _due(self) -> list[bytes]:
        """Remove and return the finished lines that are next in the output."""
        lines: list[bytes] = []
        while (line := self._finished.pop(self._written + len(lines), None)) is not None:
            lines.append(line)
        return lines

    def _rest(self) -> list[bytes]:
        """Remove and return all finished lines, in output order."""
        return [self._finished.pop(place) for place in sorted(self._finished)]

    async def _put(self, take: Callable[[], list[bytes]], thread: ThreadPoolExecutor | None) -> list[bytes]:
        if thread is None:
            with self._saving:  # `save` must not run between taking lines and writing them
                if (lines := take()) or self._ending:
                    self._output.write(lines)
        elif lines := take():
            self._writing = True
            await asyncio.get_running_loop().run_in_executor(thread, self._output.write, lines)
            self._writing = False
        return lines
