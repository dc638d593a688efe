"""Progress on stderr: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import click

from ..protocols import IndexProgress
from .run import Run

_LINE_EVERY = 30.0  # seconds between plain lines
_BAR_AFTER = 0.5  # seconds: what is done sooner needs no bar


def can_draw() -> bool:
    """Whether a line on stderr can be drawn over: a terminal, and none that takes plain text alone, as rich has it."""
    return sys.stderr.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


@contextmanager
def indexing_progress(run: Run) -> Iterator[IndexProgress | None]:
    """What to hand to a retriever's `index`, None when nobody wants to know."""
    if run.verbosity < 0:
        yield None
    elif can_draw():
        with _Bar() as bar:
            yield bar
    else:
        yield _Lines(run)


class _Lines:
    def __init__(self, run: Run) -> None:
        self._run = run
        self._began = self._said = time.monotonic()

    def __call__(self, done: int, total: int, passages: int) -> None:
        now = time.monotonic()
        if now - self._said >= _LINE_EVERY:
            self._said = now
            of = f" of {total}" if total else ""
            rate = passages / (now - self._began)
            self._run.say(f"indexed {done}{of} files, {passages} passages, {rate:.0f} passages/s")


class _Bar:
    def __init__(self) -> None:
        self._began = time.monotonic()
        self._drawn = False

    def __call__(self, done: int, total: int, passages: int) -> None:
        elapsed = time.monotonic() - self._began
        if elapsed < _BAR_AFTER:
            return
        self._drawn = True
        of = f"/{total}" if total else ""
        line = f"indexing: {done}{of} files, {passages} passages, {passages / elapsed:.0f} passages/s"
        width = os.get_terminal_size(sys.stderr.fileno()).columns or 80
        click.echo(f"\r\x1b[K{line[: width - 1]}", nl=False, err=True)  # a second line would not be drawn over

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._drawn:
            click.echo("\r\x1b[K", nl=False, err=True)
