"""Run a batch: open input and output, handle signals, print the summary."""

from __future__ import annotations

import asyncio
import errno
import os
import shlex
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from .. import stdout
from ..answering.embedding import unusable_handle
from ..answering.session import Session
from ..batch.job import BatchJob
from ..batch.local import open_input
from ..batch.output import check_continues
from ..batch.resume import survey_file
from ..errors import CallError, InputError
from ..protocols import Runner
from ..types import Tally
from .answering import Interrupted, in_session
from .options import Answering
from .progress import print_first_failure, rate, watch
from .run import LOCAL, Run
from .stopping import stoppable

_STDIN = 0


@dataclass(frozen=True, slots=True)
class Target:
    """The output of a batch: the file, folder or URL `out`, or standard output if it is None."""

    out: Path | str | None
    resume: bool
    force: bool
    retry: bool = False  # retry the failed rows of a resumed run

    def check_continues(
        self, session: Session, source: Path, *, has_passages: bool, strategy: str, as_given: bool
    ) -> None:
        """Raise InputError if the file holds answers of a different run, before any call."""
        path = Path(self.out) if self.out is not None else None
        if path is not None and path.is_file() and path.stat().st_size:
            how: dict[str, Any] = {"strategy": strategy, "as_given": as_given, "has_passages": has_passages}
            job = BatchJob(session, str(source), str(path), **how)
            job.plan(None)
            with open_input(job.source) as (descriptor, _):
                state = job.state_of(survey_file(descriptor, job.source))
            check_continues(path.resolve(), state, retry=self.retry)


async def answer_rows(
    run: Run,
    session: Session,
    source: Path | str,
    target: Target,
    *,
    column: str = "",
    strategy: str | None = None,
    as_given: bool = False,
    has_passages: bool | None = None,
    ordered: bool = True,
    jobs: int = 8,
    **how: bool,
) -> Tally:
    """Answer the rows of `source` with the configured engine. Call it only inside `in_session`.

    `has_passages` says whether the rows bring passages. None: the first row decides. `how` goes to Answerer. The
    returned tally includes failures of earlier runs.

    Raises ConfigError or MissingError before any call if the rows cannot be answered, CallError if every further
    row would fail, BrokenPipeError if the reader of the output has closed it.
    """
    supervision = _Supervision(run, strategy or "")
    job = BatchJob(
        session,
        str(source),
        None if target.out is None else str(target.out),
        column=column,
        resume=target.resume,
        retry=target.retry,
        force=target.force,
        ordered=ordered,
        jobs=jobs,
        strategy=strategy,
        as_given=as_given,
        has_passages=has_passages,
        how=how,
        say=run.say,
        supervise=supervision.supervise,
    )
    part = session.components.component("engine", session.defaults.engine or LOCAL)
    await part.build(unusable_handle).run(job)
    if supervision.resumable:
        _say_failures(run, job.tally)
    return job.tally


def answer_stream(run: Run, source: str, target: Target, answering: Answering, **how: Any) -> int:
    """Answer the rows of `source`, see `answer_rows`. Return the number of failed rows, including earlier runs."""
    if source == "-":
        if sys.stdin is not None and sys.stdin.isatty():
            raise click.UsageError("Missing questions: give a file, or pipe them to stdin.")
    elif not ("://" in source or "*" in source or Path(source).exists()):
        raise InputError(f"Cannot read {source}: {os.strerror(errno.ENOENT)}.", hint="Check the path.")
    if _same(source, target.out):
        raise click.UsageError(f"{target.out or 'Standard output'} is also the input file.")

    async def work(session: Session) -> int:
        return (await answer_rows(run, session, source, target, **how)).failed

    return in_session(run, answering, work, detailed=bool(how.get("trace")))


def _same(source: str, out: Path | str | None) -> bool:
    """Return whether the output is the same regular file as the input."""
    try:
        status = os.fstat(stdout.descriptor()) if out is None else Path(out).stat()
        other = os.fstat(_STDIN) if source == "-" else Path(source).stat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and os.path.samestat(status, other)


class _Supervision:
    """The progress of a run, its summary, and the signals that stop it. `label` begins each line."""

    def __init__(self, run: Run, label: str) -> None:
        self.resumable = False
        self._run = run
        self._label = label

    @asynccontextmanager
    async def supervise(
        self, job: BatchJob, runner: Runner, *, size: int | None, resumable: bool
    ) -> AsyncIterator[None]:
        """Show progress while inside. Afterwards print the summary, or raise an error if the run stopped early."""
        self.resumable = resumable
        on_terminal = job.out is None and os.isatty(stdout.descriptor())
        progress = watch(self._run, job.tally, size, answers_on_terminal=on_terminal, label=self._label)
        watching = asyncio.create_task(progress)
        try:
            with stoppable(runner, partial(_say_interrupted, self._run, job.tally, resumable=resumable)):
                yield
        finally:
            watching.cancel()
            await asyncio.wait({watching})
        _finish(self._run, runner, job.tally, self._label, resumable=resumable)


def _finish(run: Run, runner: Runner, tally: Tally, label: str, *, resumable: bool) -> None:
    """Print the summary. Raise an error if the run stopped early."""
    if tally.finished or not runner.trouble:
        _summarise(run, tally, label)
    if runner.trouble:
        raise CallError(
            f"Stopped, because every further row would fail: {runner.trouble.message}",
            hint=f"{runner.trouble.hint}\n{_how_to_continue(tally, resumable=resumable)}".strip(),
        )
    if runner.stopped:
        _say_interrupted(run, tally, resumable=resumable)
        raise Interrupted


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
        return "to be able to continue a run, use -o OUT"
    arguments = sys.argv[1:]
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options = [option for option in arguments[:end] if option not in ("--resume", "--retry-failed", "--force")]
    resume = "--retry-failed" if tally.general else "--resume"
    return f"continue with: {shlex.join(['rqa', *options, resume, *arguments[end:]])}"
