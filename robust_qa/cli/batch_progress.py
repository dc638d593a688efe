"""How far a batch is, on stderr: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta

from ..batch import Tally
from ..lines import Lines
from .run import Run

_LINE_EVERY = 30.0  # seconds between plain lines
_BAR_EVERY = 0.2


async def watch(
    run: Run, tally: Tally, lines: Lines, size: int | None, *, answers_on_terminal: bool, label: str = ""
) -> None:
    """Tell until cancelled. `size` is the input's in bytes, None for a stream; `label` begins each line."""
    if run.verbosity < 0 or (answers_on_terminal and sys.stderr.isatty()):
        return
    if sys.stderr.isatty():
        await _draw(tally, lines, size, label)
    while True:
        await asyncio.sleep(_LINE_EVERY)
        run.say(_line(tally, _share(tally, lines, size), label))


async def _draw(tally: Tally, lines: Lines, size: int | None, label: str) -> None:
    from rich.progress import BarColumn, Progress, TextColumn

    from .output import console

    columns = (BarColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console(err=True), auto_refresh=False, transient=True) as bar:
        task = bar.add_task("", total=size)
        while True:
            share = _share(tally, lines, size)
            bar.update(task, completed=lines.consumed, description=_line(tally, share, label), refresh=True)
            await asyncio.sleep(_BAR_EVERY)


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
