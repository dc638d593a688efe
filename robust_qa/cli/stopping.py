"""Ctrl-C and SIGTERM during a batch: the first asks it to stop, the second ends the process whatever blocks it."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

from ..batch.run import Batch
from ..errors import Exit

_ORDERLY = 2.0  # seconds that the second signal leaves for closing components
_SAVING = 2.0  # seconds for writing finished rows and the last message

_wakeup = -1  # where Python writes the number of each signal; -1: no batch runs


@contextmanager
def stoppable(batch: Batch, last_words: Callable[[], object]) -> Iterator[None]:
    """Stop `batch` at the first signal; at the second, end the process within seconds, also if the loop is blocked.

    Finished rows are written to a file first, then `last_words` is called. A signal that the parent process ignored
    stays ignored. After a first signal this stays in force until the process ends, as closing may block too.
    """
    global _wakeup  # noqa: PLW0603  (for forked children)
    taken = [n for n in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(n) is not signal.SIG_IGN]
    before = {number: signal.getsignal(number) for number in taken}
    reading, _wakeup = os.pipe()
    os.set_blocking(_wakeup, False)
    former = signal.set_wakeup_fd(_wakeup, warn_on_full_buffer=False)
    for number in taken:
        # A handler in Python would wait for the main thread: C code may keep that. A thread reads the pipe instead.
        signal.signal(number, lambda *_: None)
        signal.siginterrupt(number, False)  # as asyncio does: do not interrupt system calls
    asked, over = threading.Event(), threading.Event()
    stop = partial(asyncio.get_running_loop().call_soon_threadsafe, batch.stop)
    watching = partial(_watch, reading, frozenset(taken), stop, asked, partial(_end, batch, over, last_words))
    threading.Thread(target=watching, name="rqa-signals", daemon=True).start()
    try:
        yield
    finally:
        over.set()
        if not asked.is_set():
            for number in taken:
                signal.signal(number, before[number] or signal.SIG_DFL)
            signal.set_wakeup_fd(former)
            os.close(_wakeup)  # ends the thread
            _wakeup = -1


def _watch(
    reading: int, taken: frozenset[int], stop: Callable[[], object], asked: threading.Event, end: Callable[[], object]
) -> None:
    while number := os.read(reading, 1):
        if number[0] not in taken:
            continue
        again = asked.is_set()
        asked.set()
        with suppress(RuntimeError):  # the event loop is closed
            stop()
        if again:
            select.select([reading], [], [], _ORDERLY)  # a third signal does not wait
            end()
    os.close(reading)


def _end(batch: Batch, over: threading.Event, last_words: Callable[[], object]) -> None:
    def save() -> None:
        with suppress(Exception):
            batch.save(_SAVING / 2)
        if not over.is_set():  # else the main thread has said them
            last_words()

    # Another thread, as the disk or the terminal may block it.
    try:
        saving = threading.Thread(target=save, daemon=True)
        saving.start()
        saving.join(_SAVING)
    finally:
        os._exit(Exit.INTERRUPTED)


def _leave_signals_to_parent() -> None:
    if _wakeup != -1:
        signal.set_wakeup_fd(-1)


# Ctrl-C goes to forked worker processes too; what they wrote to the pipe would count as further signals.
os.register_at_fork(after_in_child=_leave_signals_to_parent)
