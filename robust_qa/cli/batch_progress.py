"""How far a batch is, on stderr: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import asyncio
import sys
import time
from datetime import timedelta

from ..batch import Tally
from ..lines import Lines
from .progress import can_draw
from .run import Run

_LINE_EVERY = 30.0  # seconds between plain lines
_LOOK_EVERY = 0.2
_LONGEST_MESSAGE = 400  # characters of an error


async def watch(
    run: Run, tally: Tally, lines: Lines, size: int | None, *, answers_on_terminal: bool, label: str = ""
) -> None:
    """Tell until cancelled. `size` is the input's in bytes, None for a stream; `label` begins each line."""
    if run.verbosity < 0 or (answers_on_terminal and sys.stderr.isatty()):
        return
    if can_draw():
        await _draw(run, tally, lines, size, label)
    said = time.monotonic()
    while True:
        await asyncio.sleep(_LOOK_EVERY)
        tell_first_failure(run, tally)
        if time.monotonic() - said >= _LINE_EVERY:
            said = time.monotonic()
            run.say(_line(tally, _share(tally, lines, size), label))


def tell_first_failure(run: Run, tally: Tally) -> None:
    """Once, if there is one: what ails the first row often ails all, and is better known at once."""
    if tally.first_error and not tally.told:
        tally.told = True
        run.say(f"the first failure: {tally.first_error[:_LONGEST_MESSAGE]}")


async def _draw(run: Run, tally: Tally, lines: Lines, size: int | None, label: str) -> None:
    from rich.progress import BarColumn, Progress, TextColumn

    from .output import console

    columns = (BarColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console(err=True), auto_refresh=False, transient=True) as bar:
        task = bar.add_task("", total=size)
        while True:
            share = _share(tally, lines, size)
            bar.update(task, completed=lines.consumed, description=_line(tally, share, label), refresh=True)
            tell_first_failure(run, tally)
            await asyncio.sleep(_LOOK_EVERY)


def _line(tally: Tally, share: float | None, label: str) -> str:
    parts = [label] if label else []
    parts += [f"{tally.done + tally.finished:,} rows", f"{rate(tally):.1f} rows/s"]
    if tally.failed:
        parts.append(f"{tally.failed:,} failed")
    if share:
        left = timedelta(seconds=round(tally.seconds * (1 - share) / share))
        parts += [f"{share:.0%}", f"{left} left"]
    return " · ".join(parts)


def _share(tally: Tally, lines: Lines, size: int | None) -> float | None:
    """How much of what this run has to do is done."""
    todo = (size or 0) - tally.done_bytes
    return min((lines.consumed - tally.done_bytes) / todo, 1.0) if todo > 0 else None


def rate(tally: Tally) -> float:
    """Rows a second."""
    return tally.finished / max(tally.seconds, 1e-9)
