"""How far a batch is, on stderr: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import asyncio
import sys
import time
from datetime import timedelta

from ..batch.run import Tally
from .progress import can_draw
from .run import Run

_LINE_EVERY = 30.0  # seconds between plain lines
_LOOK_EVERY = 0.2
_LONGEST_MESSAGE = 400  # characters of an error


async def watch(run: Run, tally: Tally, size: int | None, *, answers_on_terminal: bool, label: str = "") -> None:
    """Tell until cancelled. `size` is the input's in bytes, None for a stream; `label` begins each line."""
    if run.verbosity < 0 or (answers_on_terminal and sys.stderr.isatty()):
        return
    if can_draw():
        await _draw(run, tally, size, label)
    said = time.monotonic()
    while True:
        await asyncio.sleep(_LOOK_EVERY)
        tell_first_failure(run, tally)
        if time.monotonic() - said >= _LINE_EVERY:
            said = time.monotonic()
            run.say(_line(tally, share(tally, size), label))


def tell_first_failure(run: Run, tally: Tally) -> None:
    """Once, if there is one: what ails the first row often ails all, and is better known at once."""
    if tally.first_error and not tally.told:
        tally.told = True
        run.say(f"the first failure: {tally.first_error[:_LONGEST_MESSAGE]}")


async def _draw(run: Run, tally: Tally, size: int | None, label: str) -> None:
    from rich.progress import BarColumn, Progress, TextColumn

    from .output import console

    columns = (BarColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console(err=True), auto_refresh=False, transient=True) as bar:
        task = bar.add_task("", total=size)
        while True:
            told = _line(tally, share(tally, size), label)
            bar.update(task, completed=tally.done_bytes + tally.finished_bytes, description=told, refresh=True)
            tell_first_failure(run, tally)
            await asyncio.sleep(_LOOK_EVERY)


def _line(tally: Tally, part: float | None, label: str) -> str:
    parts = [label] if label else []
    parts += [f"{tally.done + tally.finished:,} rows", f"{rate(tally):.1f} rows/s"]
    if tally.failed:
        parts.append(f"{tally.failed:,} failed")
    if part:
        left = timedelta(seconds=round(tally.seconds * (1 - part) / part))
        parts += [f"{part:.0%}", f"{left} left"]
    return " · ".join(parts)


def share(tally: Tally, size: int | None) -> float | None:
    """How much of what this run has to do is done."""
    todo = (size or 0) - tally.done_bytes
    return min(tally.finished_bytes / todo, 1.0) if todo > 0 else None


def rate(tally: Tally) -> float:
    """Rows a second."""
    return tally.finished / max(tally.seconds, 1e-9)
