"""JSONL in, JSONL out: many questions in flight, answers in the order of the questions, in constant memory."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

from ..answering.components import Plan
from ..calls.contract import cancellations, passes
from ..documents.lines import Lines
from ..errors import InputError, PluginError, RqaError, UnavailableError
from ..types import Answer, Question, Usage
from .rows import Row, bare, check_rows, parse_row, unread_passages

GRACE = 5.0  # seconds the rows in flight get when the run is interrupted
_HOPELESS = 20  # rows, or as many as there are jobs, that failed with nothing answered by a call between them
_HELD_AT_MOST = 64 * 1024 * 1024  # bytes of finished rows that wait for a slower one before them


class Output(Protocol):
    """Where finished lines go, one write each. A `blocking` one may keep its writer waiting."""

    @property
    def blocking(self) -> bool: ...

    def write(self, lines: Sequence[bytes]) -> None: ...


@dataclass(slots=True)
class Tally:
    """What a run has done so far, in rows. `blank` lines have no output line; `done` ones had it before.

    Of the `failed` ones some are `unreadable`: the same input cannot but fail again; and some failed for a `general`
    reason, which is not theirs.
    """

    answered: int = 0
    abstained: int = 0
    failed: int = 0
    unreadable: int = 0
    general: int = 0
    blank: int = 0
    done: int = 0
    done_bytes: int = 0  # of input
    finished_bytes: int = 0  # likewise, blank lines included
    usage: Usage = field(default_factory=Usage)
    first_error: str = ""
    told: bool = False  # the first error, to the user
    began: float = field(default_factory=time.monotonic)

    @property
    def finished(self) -> int:
        """Rows that this run answered, abstained on or failed."""
        return self.answered + self.abstained + self.failed

    @property
    def seconds(self) -> float:
        """Since the run began."""
        return time.monotonic() - self.began


async def plan_for_first(plan: Callable[..., Plan], lines: Lines, say: Callable[[str], object]) -> Plan | None:
    """What `plan(has_passages=...)` gives for rows like the first; None when there is no row.

    Says where that seems to bring passages under another name. What cannot work is refused before anything is asked or
    written: raises ConfigError or MissingError where the configuration cannot answer such a row, InputError where the
    input is not made of rows.
    """
    line = await lines.peek()
    if line is None:
        return None
    check_rows(line)
    try:
        row = parse_row(line, 1)
        if told := unread_passages(row.fields):
            say(told)
        brings_passages = row.question().passages is not None
    except InputError:
        brings_passages = True  # a bad row is its own matter; what cannot answer even with passages is not
    return plan(has_passages=brings_passages)


class Batch:
    """One run over `lines`, with `jobs` questions in flight, each answered by `answer`.

    Ordered, a finished row waits for the slower ones before it, and holds no others up until 64 MiB of them wait.
    Where the output keeps its writer waiting, at most `window` rows are begun and not yet written. `done` says of a
    line number and its line whether an earlier run wrote it.

    It stops by itself where any further row would fail alike, and says in `trouble` why: when the provider asks for a
    wait that nobody waits for, or after many rows whose failures were not their own.
    """

    def __init__(
        self,
        answer: Callable[[Question], Awaitable[Answer]],
        lines: Lines,
        output: Output,
        *,
        jobs: int = 8,
        ordered: bool = True,
        passages: bool = True,
        details: bool = False,
        trace: bool = False,
        done: Callable[[int, bytes], bool] | None = None,
    ) -> None:
        self.tally = Tally()
        self.stopped = False
        self.trouble: RqaError | None = None
        self._ask = answer
        self._lines = lines
        self._output = output
        self._jobs = jobs
        self._ordered = ordered
        self._passages = passages
        self._details = details
        self._trace = trace
        self._done = done or (lambda number, line: False)

        self.window = max(8 * jobs, 64)
        self._number = 0  # of the last line read
        self._begun = 0
        self._ended = 0
        self._written = 0
        self._finished: dict[int, bytes] = {}  # by place in the output, not yet written
        self._held = 0  # bytes of those, and of those that are being written
        self._writing = False
        self._saving = threading.Lock()
        self._turn = asyncio.Lock()  # one worker reads at a time
        self._room = asyncio.Event()
        self._news = asyncio.Event()
        self._ending = False
        self._alike = 0  # rows that failed for what would fail any, since a call answered one
        self._crew: asyncio.Task[None] | None = None
        self._writer: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Answer every row. After `stop`, what was finished in time is written, with gaps where rows are missing.

        Raises InputError where the input cannot be read, RqaError where the output cannot be written,
        BrokenPipeError when its reader has gone.
        """
        self.tally.began = time.monotonic()
        self._crew = asyncio.create_task(self._work_all())
        self._writer = asyncio.create_task(self._write())
        try:
            await asyncio.wait({self._crew, self._writer}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._crew.cancel()  # the writer failed, or somebody cancelled this run
            await asyncio.wait({self._crew})
            self._ending = True
            self._news.set()
            await asyncio.wait({self._writer})
        for task in (self._writer, self._crew):
            if not (self.stopped and task.cancelled()):
                task.result()

    def stop(self) -> None:
        """Begin no more rows, and give those in flight a grace; called again, none."""
        grace = 0.0 if self.stopped else GRACE
        self.stopped = True
        self._lines.close()
        self._room.set()
        loop = asyncio.get_running_loop()
        if self._crew and self._writer:
            loop.call_later(grace, self._crew.cancel)
            loop.call_later(grace + 1.0, self._writer.cancel)

    async def _work_all(self) -> None:
        workers = [asyncio.create_task(self._work()) for _ in range(self._jobs)]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    async def _work(self) -> None:
        # What is asked may swallow the cancellation of its worker, whom nothing but the crew cancels.
        while not cancellations() and (row := await self._next()) is not None:
            place, line, number = row
            written = await self._answer(line, number)
            self.tally.finished_bytes += len(line) + 1
            if written is not None:
                self._finish(place, written)

    async def _next(self) -> tuple[int, bytes, int] | None:
        """Place in the output, line, and line number of the next row to answer; None when there is none left."""
        async with self._turn:
            while self._held > _HELD_AT_MOST or (self._writing and self._begun - self._written >= self.window):
                if self.stopped:
                    return None
                self._room.clear()
                await self._room.wait()
            while (line := await self._lines.next()) is not None:
                self._number += 1
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

    async def _answer(self, line: bytes, number: int) -> bytes | None:
        """The output line; None where the row is to be asked another time, and has none."""
        row, spent = Row(number, {}), Usage()
        try:
            row = parse_row(line, number)
            answer = await asyncio.ensure_future(self._ask(row.question()))  # a task: it may end, and not the worker
            spent = answer.usage
            written = row.answered(answer, details=self._details, trace=self._trace, passages=self._passages)
        except RqaError as error:
            if isinstance(error, UnavailableError) and error.limited and error.general:
                self.tally.usage += error.usage
                self._end(error)
                return None
            return self._fail(row, error)
        except BaseException as error:  # one row must not end the run, whatever is wrong with it
            if passes(error) or isinstance(error, SystemExit):
                raise
            failure = PluginError(f"The row failed with {type(error).__name__}: {error}.")
            failure.usage = spent
            return self._fail(row, failure)
        self._count(answer)
        return written

    def _fail(self, row: Row, error: RqaError) -> bytes:
        self.tally.failed += 1
        self.tally.usage += error.usage
        self.tally.unreadable += isinstance(error, InputError)
        self.tally.first_error = self.tally.first_error or f"row {row.number}: {error.message}"
        self.tally.general += error.general
        self._alike += error.general
        if self._alike >= max(self._jobs, _HOPELESS):
            self._end(error)
        return row.failed(error, passages=self._passages)

    def _end(self, error: RqaError) -> None:
        if not self.stopped:
            self.trouble = error
            self.stop()

    def _count(self, answer: Answer) -> None:
        calls = answer.usage.calls
        # What the cache alone answered, or nobody was asked for, does not show that others will be answered.
        if answer.usage.cached < calls or (answer.text is not None and not calls):
            self._alike = 0
        if answer.text is None:
            self.tally.abstained += 1
        else:
            self.tally.answered += 1
        self.tally.usage += answer.usage

    def _finish(self, place: int, line: bytes) -> None:
        self._finished[place if self._ordered else self._ended] = line
        self._ended += 1
        self._held += len(line)
        self._news.set()

    async def _write(self) -> None:
        # A thread of its own: those of the session may all be busy, or stuck.
        thread = ThreadPoolExecutor(1, thread_name_prefix="rqa-output") if self._output.blocking else None
        while not self._ending:
            await self._news.wait()
            self._news.clear()
            while lines := await self._put(self._due, thread):
                self._written += len(lines)
                self._held -= sum(map(len, lines))
                self._room.set()
        await self._put(self._rest, thread)

    def save(self, seconds: float) -> None:
        """Write every finished row to a file at once, before another thread ends the process; this run writes no more.

        Gives up after `seconds`. A pipe is left alone: its reader may be gone or asleep.
        """
        if not self._output.blocking and self._saving.acquire(timeout=seconds):  # and never released
            self._output.write(self._rest())

    def _due(self) -> list[bytes]:
        """Take the finished lines that nothing slower stands before."""
        lines: list[bytes] = []
        while (line := self._finished.pop(self._written + len(lines), None)) is not None:
            lines.append(line)
        return lines

    def _rest(self) -> list[bytes]:
        """Take all finished lines, in the order of their places."""
        return [self._finished.pop(place) for place in sorted(self._finished)]

    async def _put(self, take: Callable[[], list[bytes]], thread: ThreadPoolExecutor | None) -> list[bytes]:
        if thread is None:
            with self._saving:  # no line may be taken and not yet written when the process is ended
                if (lines := take()) or self._ending:
                    self._output.write(lines)
        elif lines := take():
            self._writing = True
            await asyncio.get_running_loop().run_in_executor(thread, self._output.write, lines)
            self._writing = False
        return lines
