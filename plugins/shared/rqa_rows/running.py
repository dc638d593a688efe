"""Run a batch: check the paths, handle signals, show progress, print the summary."""

from __future__ import annotations

import asyncio
import errno
import os
import shlex
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click

from robust_qa import CallError, InputError
from robust_qa.answering import Session, unusable_handle
from robust_qa.cli import Answering, Run, descriptor
from robust_qa.cli.answering import Stopped, in_session

from . import Batch
from .progress import print_first_failure, rate, watch
from .run import Tally
from .stopping import stoppable

_STDIN = 0
_MEASURED = 5  # rows that an estimate of the cost is made from
_LOOK_EVERY = 0.1  # seconds


async def answer_rows(run: Run, batch: Batch, label: str = "") -> Tally:
    """Answer the rows of a batch with the configured engine. Call it only inside `in_session`.

    `label` begins each line about the run. The returned tally includes failures of earlier runs.

    Raises ConfigError or MissingError before any call if the rows cannot be answered, CallError if every further
    row would fail, BrokenPipeError if the reader of the output has closed it.
    """
    session = batch.session
    part = session.components.component("engine", session.defaults.engine or "local")
    async with batch.opened(part.build(unusable_handle)), _supervised(run, batch, label):
        await batch.run()
    if batch.resumable:
        _say_failures(run, batch.tally)
    return batch.tally


def answer_stream(run: Run, source: str, out: str | None, answering: Answering, **how: Any) -> int:
    """Answer the rows of `source`; `how` as in Batch. Return the number of failed rows, including earlier runs."""
    if source == "-":
        if sys.stdin is not None and sys.stdin.isatty():
            raise click.UsageError("Missing questions: give a file, or pipe them to stdin.")
    elif not ("://" in source or "*" in source or Path(source).exists()):
        raise InputError(f"Cannot read {source}: {os.strerror(errno.ENOENT)}.", hint="Check the path.")
    if _same(source, out):
        raise click.UsageError(f"{out or 'Standard output'} is also the input file.")

    async def work(session: Session) -> int:
        batch = Batch(session, source, out, say=run.say, **how)
        return (await answer_rows(run, batch)).failed

    return in_session(run, answering, work, detailed=bool(how.get("trace")))


def _same(source: str, out: str | None) -> bool:
    """Return whether the output is the same regular file as the input."""
    try:
        status = os.fstat(descriptor()) if out is None else Path(out).stat()
        other = os.fstat(_STDIN) if source == "-" else Path(source).stat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and os.path.samestat(status, other)


@asynccontextmanager
async def _supervised(run: Run, batch: Batch, label: str) -> AsyncIterator[None]:
    """Show progress, and stop the batch on Ctrl-C, while inside. Afterwards print the summary.

    Raises CallError if the batch stopped by itself, Stopped if a signal stopped it.
    """
    tally, resumable = batch.tally, batch.resumable
    on_terminal = batch.out is None and os.isatty(descriptor())
    progress = watch(run, tally, answers_on_terminal=on_terminal, label=label)
    watching = {asyncio.create_task(each) for each in (progress, _estimate(run, batch, label))}
    try:
        with stoppable(batch, partial(_say_interrupted, run, tally, resumable=resumable)):
            yield
    finally:
        for task in watching:
            task.cancel()
        await asyncio.wait(watching)
    if tally.finished or not (batch.trouble or batch.stopped):
        _summarise(run, tally, label)
    if batch.trouble:
        raise CallError(
            f"Stopped, because every further row would fail: {batch.trouble.message}",
            hint=f"{batch.trouble.hint}\n{_how_to_continue(tally, resumable=resumable)}".strip(),
        )
    if batch.stopped:
        _say_interrupted(run, tally, resumable=resumable)
        raise Stopped


async def _estimate(run: Run, batch: Batch, label: str) -> None:
    """Say once what the calls of all rows will cost, by those of the first rows of this run."""
    tally = batch.tally
    while True:
        await asyncio.sleep(_LOOK_EVERY)
        if tally.finished >= _MEASURED:
            break
    left, usage = (tally.total or 0) - tally.done, tally.usage
    if not usage.calls or left < 2 * _MEASURED:
        return
    scale = left / tally.finished
    line = f"{left:,} rows will take about {scale * usage.calls:,.0f} calls and "
    line += f"{scale * usage.prompt_tokens:,.0f} + {scale * usage.completion_tokens:,.0f} tokens"
    reader = batch.session.components.default("reader")
    if reader and (cost := reader.cost(usage)):
        line += f", {scale * cost:,.2f} at its prices"
    line += f", as the first {tally.finished} do"
    run.say(f"{label}: {line}" if label else line)


def _say_interrupted(run: Run, tally: Tally, *, resumable: bool) -> None:
    run.say(f"interrupted; {_how_to_continue(tally, resumable=resumable)}")


def _summarise(run: Run, tally: Tally, label: str) -> None:
    counts = {"answered": tally.answered, "abstained": tally.abstained, "failed": tally.failed}
    outcome = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count) or "nothing to do"
    rows = "1 row" if tally.finished == 1 else f"{tally.finished:,} rows"
    line = f"{rows} in {tally.seconds:.1f} s ({rate(tally):.1f} rows/s): {outcome}"
    if tally.done:
        line += f"; {tally.done:,} were done before"
    if tally.blank:
        line += f"; {tally.blank:,} blank {'line' if tally.blank == 1 else 'lines'} skipped"
    usage = tally.usage
    if usage.calls:
        cached = f" ({usage.cached:,} cached)" if usage.cached else ""
        line += f"; {usage.calls:,} calls{cached}, {usage.prompt_tokens:,} + {usage.completion_tokens:,} tokens"
    run.say(f"{label}: {line}" if label else line)
    print_first_failure(run, tally)


def _say_failures(run: Run, tally: Tally) -> None:
    if tally.unreadable:
        run.say(f"invalid rows: {tally.unreadable:,}. Fix them and run them separately")
    if failed := tally.failed - tally.unreadable:
        run.say(f"failed rows: {failed:,}. Retry them with --retry-failed")


def _how_to_continue(tally: Tally, *, resumable: bool) -> str:
    """Return the command that continues the run. It retries failed rows if the cause was a general one."""
    if not resumable:
        return "this run cannot be continued. Write to a file with -o OUT, then the next one can"
    arguments = sys.argv[1:]
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options = [option for option in arguments[:end] if option not in ("--resume", "--retry-failed", "--force")]
    resume = "--retry-failed" if tally.general else "--resume"
    return f"continue with: {shlex.join(['rqa', *options, resume, *arguments[end:]])}"
