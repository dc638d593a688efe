"""Read files in worker processes with limits of time and memory, so that a hostile file costs one message.

A worker that hangs, needs too much memory or crashes ends, and another takes its place. That is a temporary failure,
because the machine may be the cause.
"""

from __future__ import annotations

import atexit
import math
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

from robust_qa.kit import cores

from .blocks import TemporarilyUnreadable, Unreadable
from .document import LIMIT, Document, File, Formats, Report, unpacked_size, unreadable_on_failure

SECONDS = 30.0  # of processor time to read a file
_PER_MEGABYTE = 2.0  # more seconds for each megabyte of the file when decompressed
_PATIENCE = 10.0  # times the limit of processor time that may pass, for a reader that only waits
_MEMORY = 1_000_000_000  # bytes that a worker may use beyond those that it starts with
_AHEAD = 32  # calls handed out before their results are wanted
_BATCH = 64  # results that a worker sends at once
_HERE = 256_000  # bytes that this process reads before it starts a worker; markup counts more, see `formats.risk`
_RETIRED = 3  # exit code of a worker that kept much memory after a file


@dataclass(frozen=True, slots=True)
class Call:
    """A generator function to run on the file at `path`. `function`, `args` and the results must be picklable.

    The limit of processor time is `seconds` and two more for each megabyte of the file when decompressed.
    """

    path: Path
    function: Callable[..., Iterator[Any]]
    args: tuple[Any, ...] = ()
    seconds: float = SECONDS
    formats: Formats | None = None  # if the function reads the file by one of them; then small text needs no worker

    @property
    def timeout(self) -> float:
        """The limit of processor time in seconds."""
        return self.seconds + _PER_MEGABYTE * unpacked_size(self.path) / 1e6

    def results(self) -> Iterator[Any]:
        """Run the function in this process. Raises OSError and Unreadable."""
        with unreadable_on_failure():
            yield from self.function(*self.args)


def read(path: Path, report: Report, formats: Formats, limit: int = LIMIT) -> Iterator[Document]:
    """Read the documents of the file at `path`. Raises Unreadable or OSError.

    A file is unreadable if it has more than `limit` bytes when decompressed, or more than `limit` characters of text.
    """
    for item in isolated(Call(path, _documents, (path, formats, limit), formats=formats)):
        if isinstance(item, Document):
            yield item
        else:
            report(*item)


def _documents(path: Path, formats: Formats, limit: int) -> Iterator[Document | tuple[str, str]]:
    """Yield the documents of a file, then (location, reason) for each skipped row."""
    from .reading import read as read_here

    skipped: list[tuple[str, str]] = []
    yield from read_here(File(path, limit, formats=formats), lambda *row: skipped.append(row))
    yield from skipped


def isolated(call: Call) -> Iterator[Any]:
    """Yield the results of one call. Raises OSError and Unreadable."""
    for _, results in in_order([call]):
        yield from results


def in_order(calls: Iterable[Call]) -> Iterator[tuple[Call, Iterator[Any]]]:
    """Run calls in several workers. Yield each with its results, in the order of `calls`.

    Takes calls from the iterable before their results are wanted. The results raise OSError and Unreadable.
    """
    from .reading import risk  # here, because a question over known files imports no reader

    waiting = iter(calls)
    ahead: deque[tuple[Call, _Worker | None]] = deque()
    team: list[_Worker] = []
    here = 0.0
    try:
        while True:
            for call in islice(waiting, _AHEAD - len(ahead)):
                here += math.inf if call.formats is None else risk(File(call.path, LIMIT, formats=call.formats))
                ahead.append((call, None if here <= _HERE else _hand_out(call, team)))
            if not ahead:
                return
            call, worker = ahead.popleft()
            results = worker.results() if worker else call.results()
            yield call, results
            with suppress(OSError, Unreadable):
                deque(results, maxlen=0)  # the caller may have stopped early
    finally:
        for worker in team:
            worker.release()


def _hand_out(call: Call, team: list[_Worker]) -> _Worker:
    """Give a call to the worker of `team` that has the fewest. Adds a worker if all are busy."""
    worker = min(team, key=lambda each: len(each.calls), default=None)
    if worker is None or (worker.calls and len(team) < cores()):
        worker = _free_worker()
        team.append(worker)
    worker.submit(call)
    return worker


_idle: list[_Worker] = []


def _free_worker() -> _Worker:
    while True:
        try:
            worker = _idle.pop()
        except IndexError:
            return _Worker()
        if worker.is_alive():
            return worker
        worker.kill()


@atexit.register
def _end_idle() -> None:
    for worker in _idle:
        worker.kill()


class _Worker:
    """A process that runs calls one after another. It ends with this process, because its input ends."""

    def __init__(self) -> None:
        self.calls: deque[Call] = deque()  # whose results are not complete
        self._start()

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def submit(self, call: Call) -> None:
        self.calls.append(call)
        self._send(call)

    def results(self) -> Iterator[Any]:
        """Yield the results of the first call that is not complete. Raises OSError and Unreadable."""
        while True:
            try:
                items, is_last, error = pickle.load(self._replies)  # noqa: S301 - our own process
            except (EOFError, pickle.UnpicklingError):
                self._replace()
                continue
            yield from items
            if is_last:
                self.calls.popleft()
                if error:
                    raise error
                return

    def release(self) -> None:
        """Keep the worker for later calls, unless it is still busy."""
        if self.calls or len(_idle) >= cores():
            self.kill()
        else:
            _idle.append(self)

    def kill(self) -> None:
        self._process.kill()
        with suppress(BrokenPipeError):
            self._calls.close()
        self._replies.close()
        self._process.wait()

    def _start(self) -> None:
        path = [each for each in sys.path if each]  # not the working directory, which is untrusted
        program = f"import sys; sys.path[:] = {path!r}; from {__name__} import work; work()"
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-P", "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "MALLOC_ARENA_MAX": "1"},  # else each thread of a library reserves 64 MB of the limit
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._calls, self._replies = self._process.stdin, self._process.stdout

    def _send(self, call: Call) -> None:
        with suppress(BrokenPipeError):  # `results` notices that the process ended
            pickle.dump((call, call.timeout), self._calls)
            self._calls.flush()

    def _replace(self) -> None:
        """Start another process for the one that ended. Raises TemporarilyUnreadable if the first call ended it."""
        self.kill()
        code = self._process.returncode
        culprit = self.calls.popleft() if code != _RETIRED else None
        self._start()
        for call in self.calls:
            self._send(call)
        if not culprit:
            return
        ended = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        reasons = {
            "SIGPROF": f"reading it took longer than {culprit.timeout:.0f} s of processor time",
            "SIGALRM": f"reading it took longer than {culprit.timeout * _PATIENCE:.0f} s",
            "SIGKILL": "its reader was killed, probably for lack of memory",
        }
        raise TemporarilyUnreadable(reasons.get(ended, f"its reader crashed ({ended})"))


# -- in the worker


def work() -> None:
    """Run the calls that arrive at standard input, until it ends. Write their results to standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process decides
    for limit in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(limit, signal.SIG_DFL)  # ends the process even inside a library
    arriving, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)  # libraries may print
    most = _limit_memory()
    calls: queue.SimpleQueue[tuple[Call, float]] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(arriving, calls), daemon=True).start()
    while True:
        call, timeout = calls.get()
        _run(call, timeout, replies)
        if _memory() > most:
            os._exit(_RETIRED)


def _receive(arriving: IO[bytes], calls: queue.SimpleQueue[tuple[Call, float]]) -> None:
    try:
        while True:
            calls.put(pickle.load(arriving))  # noqa: S301
    finally:
        os._exit(0)  # the main process has ended


def _run(call: Call, timeout: float, replies: IO[bytes]) -> None:
    def send(*reply: object) -> None:
        left, _ = signal.setitimer(signal.ITIMER_REAL, 0)  # the reader of the results may take its time
        pickle.dump(reply, replies, pickle.HIGHEST_PROTOCOL)
        replies.flush()
        signal.setitimer(signal.ITIMER_REAL, left)

    _limit_time(timeout)
    items: list[Any] = []
    error: Exception | None = None
    try:
        for item in call.results():
            items.append(item)
            if len(items) == _BATCH:
                send(items, False, None)
                items = []
    except (OSError, Unreadable) as failure:
        error = failure
    _limit_time(0)
    send(items, True, error)


def _limit_time(seconds: float) -> None:
    """End this process after so many seconds of processor time, or when it waited for long. 0: never."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, seconds * _PATIENCE)


def _limit_memory() -> int:
    """Limit the memory of this process. Return how much it may keep after a file."""
    import resource

    start = _memory()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = start + _MEMORY if hard == resource.RLIM_INFINITY else min(start + _MEMORY, hard)
    with suppress(ValueError, OSError):  # macOS has no such limit
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    return start + _MEMORY // 2


def _memory() -> int:
    """Return the size of the address space in bytes, 0 where it is unknown."""
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[0]) * os.sysconf("SC_PAGESIZE")
    except OSError:
        return 0
