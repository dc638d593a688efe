"""The contract between a batch and its engine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from robust_qa import ReaderHandle, Relay, Usage


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a row. It can be pickled.

    `number` is that of the row, and `line` its line in the output. None: a later run has to answer the row, and this
    run stops. `error` and `hint`: why the row failed. `general`: as in RqaError. `unreadable`: it is no valid row.
    """

    number: int
    line: bytes | None
    abstained: bool = False
    usage: Usage = field(default_factory=Usage)
    error: str = ""
    hint: str = ""
    general: bool = False
    unreadable: bool = False


class Engine(Protocol):
    """Answers the rows of a batch: in this process, or on other machines.

    The host reads the input, writes the output, shows progress and handles Ctrl-C. These methods are optional, and
    called in this order before the first row is answered:

    - `async check(job)` raises an error if the engine cannot work like this.
    - `rows(source, column)`, for other sources, returns an iterable of rows with their numbers. It is read twice.
    - `output(job)`, for other places, returns a context manager of an Output, or None if the host can write `job.out`.
    """

    async def run(self, rows: AsyncIterator[tuple[int, bytes]], job: Job, /) -> None:
        """Answer every row and hand each result to `job.take`.

        Several tasks may iterate over `rows`. It ends early if the run is stopped; a few seconds later this call is
        cancelled. Raises UnavailableError if no more rows can be answered.
        """


class Worker(Protocol):
    """Answers rows in the process that opened it."""

    async def answer(self, number: int, row: bytes, /) -> Result:
        """Return the result of a row, when it is its turn."""

    def warnings(self) -> str:
        """Return warnings for the end of the run, one a line."""


class Job(Protocol):
    """A batch, as an engine sees it.

    `out`: a path, a URL, or None for standard output. `resume`, `retry` and `force` say what to do with answers that
    are in `out` already. `jobs`: the number of questions in flight, of all workers together; an engine may change it.
    """

    out: str | None
    resume: bool
    retry: bool
    force: bool
    jobs: int

    async def answer(self, number: int, row: bytes, /) -> Result:
        """Return the result of a row, answered in this process."""

    def take(self, result: Result, /) -> None:
        """Write and count the result of a row, in any order, once."""

    def say(self, text: str, /) -> None:
        """Print one line on stderr."""

    @property
    def recipe(self) -> Recipe:
        """A recipe for workers in other processes."""

    @property
    def state(self) -> bytes:
        """What the answers depend on, as JSON without secrets. An output of an engine stores it."""

    def check_continues(self, stored: bytes, /) -> None:
        """Raise InputError if the answers in `out`, which have the state `stored`, are of another run."""

    @property
    def reader(self) -> ReaderHandle | None:
        """The default reader, None if there is none."""

    @property
    def calls(self) -> int:
        """The number of calls to components in flight in this process, without those of a relay."""

    def relaying(self, relay: Relay, /) -> AbstractContextManager[None]:
        """Let `relay` make the calls of readers in this process while inside."""


class Recipe(Protocol):
    """Opens workers in any process of any machine. It can be pickled.

    It contains API keys: never write it to a file or a log.
    """

    @property
    def max_workers(self) -> int:
        """The number of workers that `jobs` and the concurrency limits allow."""

    def open(self, number: int, count: int, /) -> AbstractAsyncContextManager[Worker]:
        """Open worker `number` (from 0) of `count`, with its share of `jobs` and of the rate and concurrency limits.

        A worker loads each model once. Raises ConfigError or MissingError if this machine cannot answer.
        """


class Output(Protocol):
    """Where the lines of a batch go. `failed` and `unreadable` count rows that failed in earlier runs."""

    failed: int
    unreadable: int

    def has(self, number: int, row: bytes, /) -> bool:
        """Whether an earlier run answered the row. Called once for each row, in their order.

        Raises InputError if the output has another question under that number.
        """

    def write(self, lines: Sequence[bytes], /) -> None:
        """Add output lines, in any order."""

    def finish(self) -> None:
        """Complete the output, in the order of the rows: every row has its line."""
