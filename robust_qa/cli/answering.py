"""Open a session from the answering options, and work in it."""

from __future__ import annotations

import asyncio
import ctypes
import signal
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, TypeVar

from ..answering.opening import new_session
from ..answering.session import Session
from ..errors import Interrupted
from ..stdout import plugins_write_to_stderr
from .options import Answering
from .piped import with_stdin
from .run import Run

if TYPE_CHECKING:
    from ..protocols import IndexProgress, IndexReport

T = TypeVar("T")

_M_ARENA_MAX = -8  # of malloc.h


def command_session(
    run: Run,
    answering: Answering,
    *,
    detailed: bool = True,
    record: str = "",
    fresh: bool = True,
    filters: Mapping[str, str] | None = None,
) -> Session:
    """Return a session for the command line and the configuration. Index the files of --docs first.

    `fresh` and `filters` are as for `new_session`.
    `record`: a command, such as "ask", whose answers go to the history.
    """

    def say_skipped(report: IndexReport) -> None:
        from .output import summarised

        # All only after the index changed, so that not every question repeats the list.
        changed = report.added or report.changed or report.removed or report.unread or not report.passages
        for line in summarised(report.skipped) if changed else filter(None, (report.advice,)):
            run.say(line)

    config = run.load_config(answering.overrides())
    with _progress(run) if answering.docs else nullcontext() as progress:
        return new_session(
            config,
            run.host,
            docs=with_stdin(answering.docs),
            reading=answering.reading(),
            named=bool(answering.retriever),
            progress=progress,
            indexed=say_skipped,
            record=record,
            say=run.say,
            detailed=detailed,
            fresh=fresh,
            filters=filters,
        )


def _progress(run: Run) -> AbstractContextManager[IndexProgress | None]:
    from .progress import indexing_progress

    return indexing_progress(run)


class Stopped(Exception):
    """A signal stopped the batch."""


def in_session(
    run: Run,
    answering: Answering,
    work: Callable[[Session], Awaitable[T]],
    *,
    detailed: bool = True,
    record: str = "",
    filters: Mapping[str, str] | None = None,
) -> T:
    """Return the result of `work`, run with the command line's session. Plugins' prints go to stderr.

    `filters`: options of the retrievers that restrict what is searched.
    `record`: a command, such as "serve", whose answers go to the history.
    Raises Interrupted if a signal stops the batch.
    """
    _share_arenas()

    async def work_in_session(session: Session) -> T:
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, partial(_interrupt, asyncio.get_running_loop()))
        async with session:
            result = await work(session)
        if session.trouble:
            run.say(session.trouble)
        return result

    with plugins_write_to_stderr():
        session = command_session(run, answering, detailed=detailed, record=record, filters=filters)
        try:
            return asyncio.run(work_in_session(session))
        except Stopped:
            raise Interrupted from None


def _interrupt(loop: asyncio.AbstractEventLoop, number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt at once, since a slow read or write can block the event loop.

    In the loop's own code, the exception would lose the step of a task that was about to run, and the task would never
    end. There the loop raises it.
    """
    if frame and frame.f_globals.get("__name__", "").partition(".")[0] in ("asyncio", "selectors", "anyio"):
        loop.call_soon_threadsafe(signal.default_int_handler, number, None)
    else:
        raise KeyboardInterrupt


def _share_arenas() -> None:
    """Limit the number of malloc arenas. With one arena per thread, glibc's memory grows over a long run."""
    with suppress(OSError, AttributeError):  # not glibc
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 2)
