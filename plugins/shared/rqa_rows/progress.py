"""Progress of a batch on stderr: a bar on a terminal, otherwise a line every 30 seconds."""

from __future__ import annotations

import asyncio
import sys
import time
from datetime import timedelta

from robust_qa.cli import Run, can_draw, console

from .run import Tally

_LINE_EVERY = 30.0  # seconds between plain lines
_LONGEST_PAUSE = 3600.0  # seconds between plain lines while no row finishes
_UPDATE_EVERY = 0.2  # seconds between updates
_LONGEST_MESSAGE = 400  # characters of an error


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
