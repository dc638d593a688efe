"""Ctrl-C and SIGTERM during a batch: the first stops it in order, the second ends the process."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

from robust_qa import Exit

from . import Batch

_CLOSING = 2.0  # seconds for closing components after the second signal
_SAVING = 2.0  # seconds for writing finished rows and the last message

_wakeup = -1  # file descriptor to which Python writes the number of each signal; -1: no batch runs


@contextmanager
def stoppable(batch: Batch, last_words: Callable[[], object]) -> Iterator[None]:
    """Stop `batch` at the first signal. At the second, end the process within seconds, even if the event loop hangs.

    Before the process ends, finished rows are written to a file and `last_words` is called. Signals that the parent
    process ignored stay ignored. The handlers stay after a first signal, because closing may hang too.
    """
    global _wakeup  # noqa: PLW0603  (for forked children)
    handled = [n for n in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(n) is not signal.SIG_IGN]
    before = {number: signal.getsignal(number) for number in handled}
    reading, _wakeup = os.pipe()
    os.set_blocking(_wakeup, False)
    former = signal.set_wakeup_fd(_wakeup, warn_on_full_buffer=False)
    for number in handled:
        # Python runs handlers in the main thread, which C code may block. So a thread reads the pipe instead.
        signal.signal(number, lambda *_: None)
        signal.siginterrupt(number, False)  # as asyncio does: do not interrupt system calls
    signalled, over = threading.Event(), threading.Event()
    stop = partial(asyncio.get_running_loop().call_soon_threadsafe, batch.stop)
    watch = partial(_watch, reading, frozenset(handled), stop, signalled, partial(_end, batch, over, last_words))
    threading.Thread(target=watch, name="rqa-signals", daemon=True).start()
    try:
        yield
    finally:
        over.set()
        if not signalled.is_set():
            for number in handled:
                signal.signal(number, before[number] or signal.SIG_DFL)
            signal.set_wakeup_fd(former)
            os.close(_wakeup)  # ends the thread
            _wakeup = -1


def _watch(
    reading: int,
    handled: frozenset[int],
    stop: Callable[[], object],
    signalled: threading.Event,
    end: Callable[[], object],
) -> None:
    while number := os.read(reading, 1):
        if number[0] not in handled:
            continue
        second = signalled.is_set()
        signalled.set()
        with suppress(RuntimeError):  # the event loop is closed
            stop()
        if second:
            select.select([reading], [], [], _CLOSING)  # a third signal ends the wait
            end()
    os.close(reading)


def _end(batch: Batch, over: threading.Event, last_words: Callable[[], object]) -> None:
    def save() -> None:
        with suppress(Exception):
            batch.save(_SAVING / 2)
        if not over.is_set():  # else the main thread has called it
            last_words()

    # In another thread, because the disk or the terminal may block.
    try:
        saving = threading.Thread(target=save, daemon=True)
        saving.start()
        saving.join(_SAVING)
    finally:
        os._exit(Exit.INTERRUPTED)


def _leave_signals_to_parent() -> None:
    if _wakeup != -1:
        signal.set_wakeup_fd(-1)


# Forked workers get Ctrl-C too. Without this they would write to the same pipe and count as a second signal.
os.register_at_fork(after_in_child=_leave_signals_to_parent)
