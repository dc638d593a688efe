"""A batch: hand its rows to an engine, write the results in order, and end early if it must. Memory is bounded."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import msgspec

from robust_qa import CallError, InputError, PluginError, ReaderHandle, Relay, RqaError, UnavailableError, Usage
from robust_qa.answering import Session, attributed, cancellations, recipe_of

from .input import InputRows, bare, delimiter_of, described, open_input, source_name
from .output import OutFile, check_continues, open_stream
from .protocols import Engine, Job, Output, Result
from .rows import parse_row, unread_passages
from .state import State, Survey, state_of, survey, survey_file
from .workers import RowRecipe, SessionWorker

GRACE = 5.0  # seconds that rows in flight get to finish after an interrupt
_MAX_GENERAL_FAILURES = 20  # in a row, or as many as there are jobs
_MAX_BUFFERED = 64 * 1024 * 1024  # bytes of finished rows that wait for a slower one before them

NumberedRow = tuple[int, bytes]


async def answer_all(
    rows: AsyncIterator[NumberedRow], answer: Callable[[int, bytes], Awaitable[Result]], job: Job
) -> None:
    """Answer every row with `answer`, `job.jobs` at once, and hand the results to the job."""

    async def work() -> None:
        async for number, row in rows:
            job.take(await answer(number, row))

    workers = [asyncio.create_task(work()) for _ in range(job.jobs)]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


@dataclass(slots=True)
class Tally:
    """The progress of a run, in rows.

    `unreadable`: failed rows that are not valid. They would fail again.
    `general`: failed rows whose error has nothing to do with the row, such as an unreachable server.
    `blank`: empty lines, which have no output line.
    `done`: rows that an earlier run answered.
    `total`: rows of the input, None for a stream.
    """

    answered: int = 0
    abstained: int = 0
    failed: int = 0
    unreadable: int = 0
    general: int = 0
    blank: int = 0
    done: int = 0
    total: int | None = None
    usage: Usage = field(default_factory=Usage)
    first_error: str = ""
    reported: bool = False  # whether the first error was printed
    began: float = field(default_factory=time.monotonic)

    @property
    def finished(self) -> int:
        """The number of rows that this run answered, abstained on or failed."""
        return self.answered + self.abstained + self.failed

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self.began

    def count(self, result: Result) -> None:
        """Count a row."""
        self.usage += result.usage
        if result.line is None:
            return
        if result.error:
            self.failed += 1
            self.unreadable += result.unreadable
            self.general += result.general
            self.first_error = self.first_error or f"row {result.number}: {result.error}"
        else:
            self.abstained += result.abstained
            self.answered += not result.abstained


@dataclass
class Batch:
    """The rows of `source`, which sessions like `session` answer to `out`. Engines see it as a Job.

    `source`: a path, a URL, or "-" for standard input. `out`: a path, a URL, or None for standard output.
    `column`: the field with the question, "" to recognise it.
    `resume`, `retry` and `force` say what to do with answers that are in `out` already.
    With `raw_cells`, cells of CSV and TSV that a spreadsheet may run stay as they are.
    A finished row waits for slower ones before it. New rows start until 64 MiB of finished rows wait.
    `has_passages` says whether the rows bring passages. None: the first row decides.
    `passages`, `details` and `trace` say what the output lines contain. A "whole" trace has the prompts too.

    `stopped`: the run ended early. `trouble`: it stopped by itself, because every further row would fail.
    """

    session: Session
    source: str
    out: str | None
    column: str = ""
    resume: bool = False
    retry: bool = False
    force: bool = False
    raw_cells: bool = False
    jobs: int = 8
    strategy: str | None = None
    as_given: bool = False
    has_passages: bool | None = None
    passages: bool = True
    details: bool = False
    trace: bool | Literal["whole"] = False
    say: Callable[[str], None] = lambda text: None

    def __post_init__(self) -> None:
        self.tally = Tally()
        self.stopped = False
        self.trouble: RqaError | None = None
        self.resumable = is_file(self.out)
        self._how: tuple[dict[str, Any], dict[str, Any]] = (
            {"strategy": self.strategy, "as_given": self.as_given},
            {"passages": self.passages, "details": self.details, "trace": self.trace},
        )
        self._engine: Engine
        self._bring_passages = self.has_passages  # None until the first row says so
        self._delimiter = ","  # of CSV output: that of the input
        self._survey = Survey()
        self._input: InputRows | _GivenRows
        self._output: Output
        self._writer: Writer
        self._reading = asyncio.Lock()
        self._in_flight: set[int] = set()  # numbers of rows
        self._general_failures = 0  # since a call succeeded
        self._answering: asyncio.Task[None] | None = None
        self._writing: asyncio.Task[None] | None = None

    # -- what a run does

    @asynccontextmanager
    async def opened(self, engine: Engine) -> AsyncIterator[None]:
        """Read the input, check that the first row can be answered, and open the output, while inside.

        Raises InputError for an input or output that cannot be used, ConfigError or MissingError if the configuration
        cannot answer the first row, BusyError if another process writes the output.
        """
        self._engine = engine
        self.resumable |= hasattr(engine, "output")
        if check := getattr(engine, "check", None):
            await check(self)
        async with AsyncExitStack() as stack:
            if read := getattr(engine, "rows", None):
                given = read(self.source, self.column)
                self._survey = survey(row for _, row in given)
                self._input = _GivenRows(given)
                self._plan(self._survey.first)
            else:
                descriptor, kind = stack.enter_context(open_input(self.source))
                self._survey = survey_file(descriptor, self.source, self.column)
                self._input = rows = InputRows(descriptor, self.source, self.column)
                self._plan(await rows.peek(), kind)
            self.tally.total = self._survey.rows
            own = engine.output(self) if hasattr(engine, "output") else None
            self._output = stack.enter_context(own or self._host_output())
            self._writer = Writer(self._output, ordered=own is None, jobs=self.jobs)
            yield
            self.tally.failed += self._output.failed
            self.tally.unreadable += self._output.unreadable

    async def run(self) -> None:
        """Answer every row. After `stop`, write the finished rows, with gaps for the missing ones.

        Raises InputError if the input cannot be read, RqaError if the output cannot be written, and BrokenPipeError
        if the output pipe is closed.
        """
        self.tally.began = time.monotonic()
        self._answering = asyncio.ensure_future(self._run_engine())
        self._writing = asyncio.create_task(self._writer.run())
        try:
            await asyncio.wait({self._answering, self._writing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._answering.cancel()  # the writer failed, or the run was cancelled
            await asyncio.wait({self._answering})
            self._writer.end()
            await asyncio.wait({self._writing})
        try:
            for task in (self._writing, self._answering):
                if not (self.stopped and task.cancelled()):
                    task.result()
        except UnavailableError as error:
            if not self.tally.finished:
                raise
            self.trouble = error
        if self.stopped or self.trouble:
            return
        if self._in_flight:
            raise PluginError(f"The engine returned no result for {len(self._in_flight):,} of the rows.")
        self._output.finish()

    async def _run_engine(self) -> None:
        with attributed(f"Engine {type(self._engine).__name__}"):
            await self._engine.run(_Handed(self._next), self)

    def stop(self) -> None:
        """Start no more rows, and give those in flight GRACE seconds. A second call ends them at once."""
        grace = 0.0 if self.stopped else GRACE
        self.stopped = True
        self._input.close()
        self._writer.room.set()
        loop = asyncio.get_running_loop()
        if self._answering and self._writing:
            loop.call_later(grace, self._answering.cancel)
            loop.call_later(grace + 1.0, self._writing.cancel)

    def save(self, seconds: float) -> None:
        """Write all finished rows to a file now, before the process ends. Gives up after `seconds`."""
        self._writer.save(seconds)

    def check_output(self) -> None:
        """Raise InputError if `out` has answers of another run. Needs `has_passages`, and makes no call."""
        path = Path(self.out) if self.out is not None else None
        if path is not None and path.is_file() and path.stat().st_size:
            self._plan(None)
            with open_input(self.source) as (descriptor, _):
                self._survey = survey_file(descriptor, self.source, self.column)
            check_continues(path.resolve(), self._state, retry=self.retry)

    async def _next(self) -> NumberedRow | None:
        """The next row to answer, None if there is none left."""
        async with self._reading:
            while self._writer.is_full and not self.stopped:
                self._writer.room.clear()
                await self._writer.room.wait()
            # A component may swallow the cancellation of this task, so check for it.
            while not (self.stopped or cancellations()) and (read := await self._input.next()) is not None:
                number, row = read
                if not bare(row):
                    self.tally.blank += 1
                elif self._output.has(number, row):
                    self.tally.done += 1
                else:
                    self._in_flight.add(number)
                    self._writer.expect(number)
                    return read
            return None

    def _plan(self, first: bytes | None, kind: str = "JSON lines") -> None:
        """Check the configuration with the first row, None if there is no row. Say what the input is taken for."""
        if self.has_passages is not None:
            self._check(has_passages=self.has_passages)
            return
        if first is None:
            return
        self._delimiter = delimiter_of(first)
        rows = self._survey.rows
        count = "" if rows is None else f", {rows:,} {'row' if rows == 1 else 'rows'}"
        self.say(f"{source_name(self.source)}: {described(first, kind)}{count}")
        try:
            row = parse_row(first, 1)
            if warning := unread_passages(row.fields):
                self.say(warning)
            has_passages = row.question().passages is not None
        except InputError:
            has_passages = True  # only this row fails, so check what every row needs
        self._check(has_passages=has_passages)

    def _check(self, *, has_passages: bool) -> None:
        self.session.choose(has_passages=has_passages, **self._how[0])
        self._bring_passages = has_passages

    @contextmanager
    def _host_output(self) -> Iterator[Output]:
        if not self.resumable:
            with open_stream(self.out, resume=self.resume) as stream:
                yield stream
            return
        assert self.out is not None
        how = {"resume": self.resume, "retry": self.retry, "force": self.force}
        with OutFile(Path(self.out), self._state, **how, delimiter=self._delimiter, raw=self.raw_cells) as file:
            if file.lost:
                self.say(
                    f"the settings of the run that wrote {self.out} are lost; its rows stay if their questions match"
                )
            yield file

    @cached_property
    def _state(self) -> State:
        return state_of(self.session, self._survey, self._bring_passages, self._how[0])

    # -- what an engine uses, see Job

    async def answer(self, number: int, row: bytes) -> Result:
        """The result of a row, answered with the session."""
        return await self._worker.answer(number, row)

    @cached_property
    def _worker(self) -> SessionWorker:
        return SessionWorker(self.session, self.jobs, *self._how)

    def take(self, result: Result) -> None:
        """Count the result of a row, and write its line in its turn. Stop if every further row would fail."""
        self._in_flight.remove(result.number)
        self.tally.count(result)
        if result.line is not None:
            self._writer.add(result.number, result.line)
        usage = result.usage
        if result.error:
            self._general_failures += result.general
        # An answer from the cache, or an abstention without a call, does not show that calls work.
        elif usage.cached < usage.calls or not (result.abstained or usage.calls):
            self._general_failures = 0
        useless = result.line is None or self._general_failures >= max(self.jobs, _MAX_GENERAL_FAILURES)
        if useless and not self.stopped:
            self.trouble = CallError(result.error, hint=result.hint)
            self.stop()

    @cached_property
    def recipe(self) -> RowRecipe:
        """A recipe for workers in other processes."""
        return RowRecipe(recipe_of(self.session), self.jobs, self._how)

    @property
    def state(self) -> bytes:
        """What the answers depend on, as JSON without secrets."""
        return msgspec.json.encode(self._state)

    def check_continues(self, stored: bytes) -> None:
        """Raise InputError if answers with the state `stored` do not belong to this run."""
        State.decoded(stored, str(self.out)).check_continues(self._state, str(self.out), retry=self.retry)

    @property
    def reader(self) -> ReaderHandle | None:
        """The default reader, None if there is none."""
        return self.session.components.default("reader")

    @property
    def calls(self) -> int:
        """The number of calls to components in flight, without those of a relay."""
        return self.session.components.calls

    @contextmanager
    def relaying(self, relay: Relay) -> Iterator[None]:
        """Let `relay` make the calls of readers while inside."""
        self.session.components.relay = relay
        try:
            yield
        finally:
            self.session.components.relay = None


class _Handed:
    """The rows for an engine. Several tasks may iterate over them."""

    def __init__(self, get: Callable[[], Awaitable[NumberedRow | None]]) -> None:
        self._get = get

    def __aiter__(self) -> AsyncIterator[NumberedRow]:
        return self

    async def __anext__(self) -> NumberedRow:
        if (row := await self._get()) is None:
            raise StopAsyncIteration
        return row


class _GivenRows:
    """The rows that an engine reads."""

    def __init__(self, rows: Iterable[NumberedRow]) -> None:
        self._rows = iter(rows)

    async def next(self) -> NumberedRow | None:
        return next(self._rows, None)

    def close(self) -> None:
        self._rows = iter(())


class Writer:
    """Writes finished lines to `output`: in the order in which their rows were expected, or as they come.

    If the output is `blocking`, a write may wait for its reader, as for a pipe. Meanwhile few rows are started.
    """

    def __init__(self, output: Output, *, ordered: bool, jobs: int) -> None:
        self.room = asyncio.Event()  # set when the writer may no longer be full
        self._output = output
        self._ordered = ordered
        self._blocking = getattr(output, "blocking", False)
        self._window = max(8 * jobs, 64)
        self._places: dict[int, int] = {}  # in the output, by row number
        self._expected = 0
        self._added = 0
        self._written = 0
        self._finished: dict[int, bytes] = {}  # by place in the output, not yet written
        self._buffered = 0  # bytes of those, and of those that are being written
        self._waits = False
        self._saving = threading.Lock()
        self._line_ready = asyncio.Event()
        self._ending = False

    @property
    def is_full(self) -> bool:
        """Whether no more rows should be started."""
        waiting = self._expected - self._written
        return self._buffered > _MAX_BUFFERED or (self._waits and waiting >= self._window)

    def expect(self, number: int) -> None:
        """Reserve the next place for the line of a row."""
        self._places[number] = self._expected
        self._expected += 1

    def add(self, number: int, line: bytes) -> None:
        """Write the line of a row in its turn."""
        place = self._places.pop(number)
        self._finished[place if self._ordered else self._added] = line
        self._added += 1
        self._buffered += len(line)
        self._line_ready.set()

    async def run(self) -> None:
        """Write lines until `end`."""
        # Its own thread: all threads of the session may be busy.
        thread = ThreadPoolExecutor(1, thread_name_prefix="rqa-output") if self._blocking else None
        while not self._ending:
            await self._line_ready.wait()
            self._line_ready.clear()
            while lines := await self._put(self._due, thread):
                self._written += len(lines)
                self._buffered -= sum(map(len, lines))
                self.room.set()
        await self._put(self._rest, thread)

    def end(self) -> None:
        """Write all finished lines, and no more."""
        self._ending = True
        self._line_ready.set()

    def save(self, seconds: float) -> None:
        """Write all finished lines to a file now, before the process ends. Afterwards nothing is written.

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

    async def _put(self, take: Callable[[], Sequence[bytes]], thread: ThreadPoolExecutor | None) -> Sequence[bytes]:
        if thread is None:
            with self._saving:  # `save` must not run between taking lines and writing them
                if (lines := take()) or self._ending:
                    self._output.write(lines)
        elif lines := take():
            self._waits = True
            await asyncio.get_running_loop().run_in_executor(thread, self._output.write, lines)
            self._waits = False
        return lines


def is_file(out: str | None) -> bool:
    """Whether the output is a regular file, not a pipe or a device."""
    return out is not None and (Path(out).is_file() or not Path(out).exists())
