"""Progress on stderr: a bar on a terminal, otherwise a line every 30 seconds."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from ..protocols import IndexProgress
from .run import Run

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from ..batch.run import Tally

_LINE_EVERY = 30.0  # seconds between plain lines
_BAR_AFTER = 0.5  # seconds before the bar appears
_LONGEST_PAUSE = 3600.0  # seconds between plain lines while no row finishes
_UPDATE_EVERY = 0.2  # seconds between updates of a batch's progress
_LONGEST_MESSAGE = 400  # characters of an error


def can_draw() -> bool:
    """Return whether stderr is a terminal that can redraw a line."""
    return sys.stderr.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


def redraw(line: str = "") -> None:
    """Draw `line` on stderr in place of the last one, as far as it fits: a second line cannot be redrawn."""
    width = (os.get_terminal_size(sys.stderr.fileno()).columns or 80) if line else 1
    click.echo(f"\r\x1b[K{line[: width - 1]}", nl=False, err=True)


# -- indexing


@contextmanager
def indexing_progress(run: Run) -> Iterator[IndexProgress | None]:
    """Return the callback for a retriever's `index`, or None with -q. Says after Ctrl-C what is done."""
    if run.verbosity < 0:
        yield None
        return
    progress = _Indexing(run)
    try:
        with closing(progress):
            yield progress
    except KeyboardInterrupt:
        stopped = progress.state or "before a file was read"
        run.say(f"interrupted: {stopped}. Run the same command again to finish")
        raise


class _Indexing:
    """Shows a bar for reading and one for embedding, each with the time left, or a line now and then.

    `state` is what was reported last.
    """

    state = ""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._began = self._last = time.monotonic()
        self._bars: Progress | None = None
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, done: int, total: int, passages: int, embedded: int | None = None) -> None:
        if embedded is None:
            self.state = f"read {done:,}{f' of {total:,}' if total else ''} files, {passages:,} passages"
            self._show("reading", done, total)
        else:
            self.state = f"embedded {embedded:,} of {passages:,} passages"
            self._show("embedding", embedded, passages)

    def close(self) -> None:
        """Remove the bars."""
        if self._bars:
            self._bars.stop()

    def _show(self, phase: str, done: int, total: int) -> None:
        now = time.monotonic()
        if can_draw():
            if now - self._began >= _BAR_AFTER:
                bars = self._bars = self._bars or _started()
                if phase not in self._tasks:
                    self._tasks[phase] = bars.add_task(self.state, total=total or None)
                bars.update(self._tasks[phase], completed=done, total=total or None, description=self.state)
        elif now - self._last >= _LINE_EVERY:
            self._last = now
            self._run.say(self.state)


def _started() -> Progress:
    from rich.progress import BarColumn, Progress, Task, TextColumn, TimeRemainingColumn
    from rich.text import Text

    from .output import console

    class Left(TimeRemainingColumn):
        def render(self, task: Task) -> Text:
            return Text() if task.finished or task.time_remaining is None else super().render(task).append(" left")

    bars = Progress(
        BarColumn(bar_width=20),
        TextColumn("{task.description}"),
        Left(),
        console=console(err=True),
        transient=True,
        refresh_per_second=5,
    )
    bars.start()
    return bars


# -- batches


async def watch(run: Run, tally: Tally, *, answers_on_terminal: bool, label: str = "") -> None:
    """Show the progress of a batch until cancelled. `label` begins each line."""
    if run.verbosity < 0 or (answers_on_terminal and sys.stderr.isatty()):
        return
    if can_draw():
        await _draw(run, tally, label)
    last, pause, finished = time.monotonic(), _LINE_EVERY, 0
    while True:
        await asyncio.sleep(_UPDATE_EVERY)
        print_first_failure(run, tally)
        if time.monotonic() - last >= pause:
            last = time.monotonic()
            pause = min(2 * pause, _LONGEST_PAUSE) if tally.finished == finished else _LINE_EVERY
            finished = tally.finished
            run.say(_line(tally, label))


def print_first_failure(run: Run, tally: Tally) -> None:
    """Print the first failure once: a problem with the first row often affects all rows."""
    if tally.first_error and not tally.reported:
        tally.reported = True
        run.say(f"the first failure: {tally.first_error[:_LONGEST_MESSAGE]}")


async def _draw(run: Run, tally: Tally, label: str) -> None:
    from rich.progress import BarColumn, Progress, TextColumn

    from .output import console

    columns = (BarColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console(err=True), auto_refresh=False, transient=True) as bar:
        task = bar.add_task("", total=tally.total)
        while True:
            bar.update(task, completed=tally.done + tally.finished, description=_line(tally, label), refresh=True)
            print_first_failure(run, tally)
            await asyncio.sleep(_UPDATE_EVERY)


def _line(tally: Tally, label: str) -> str:
    parts = [label] if label else []
    parts += [f"{tally.done + tally.finished:,} rows", f"{rate(tally):.1f} rows/s"]
    if tally.failed:
        parts.append(f"{tally.failed:,} failed")
    if tally.total and tally.finished:
        part = tally.finished / (tally.total - tally.done)  # of this run's work
        left = timedelta(seconds=round(tally.seconds * (1 - part) / part))
        parts += [f"{part:.0%}", f"{left} left"]
    return " · ".join(parts)


def rate(tally: Tally) -> float:
    """Return the finished rows per second."""
    return tally.finished / max(tally.seconds, 1e-9)
