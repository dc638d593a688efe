"""Progress on stderr: a bar on a terminal, otherwise a line every 30 seconds."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from ..errors import Interrupted
from .live import can_draw
from .run import Run

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from ..protocols import IndexProgress

_LINE_EVERY = 30.0  # seconds between plain lines
_BAR_AFTER = 0.5  # seconds before the bar appears


@contextmanager
def indexing_progress(run: Run) -> Iterator[IndexProgress | None]:
    """Return the callback for a retriever's `index`, or None with -q. Says after Ctrl-C what is done.

    Raises Interrupted then.
    """
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
        raise Interrupted from None


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
        self._first: dict[str, tuple[float, int]] = {}  # of each phase: when, and how much was done then

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
            began, before = self._first.setdefault(phase, (now, done))
            left = (now - began) * (total - done) / (done - before) if before < done < total else 0
            self._run.say(f"{self.state}, about {timedelta(seconds=round(left))} left" if left else self.state)


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
