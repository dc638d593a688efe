"""Run a batch: open input and output, handle signals, print the summary."""

from __future__ import annotations

import asyncio
import ctypes
import os
import shlex
import signal
import stat
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import click

from .. import stdout
from ..answering.components import Plan
from ..answering.session import Session
from ..batch.output import OutFile, Stream, check_continues
from ..batch.resume import State, retrieved, surveyed
from ..batch.run import Batch, Tally, plan_for_first
from ..documents.lines import Lines
from ..errors import CallError, InputError
from ..stdout import plugins_write_to_stderr
from .answering import open_session
from .options import Answering
from .progress import print_first_failure, rate, watch
from .run import Run
from .stopping import stoppable

T = TypeVar("T")

_STDIN = 0
_M_ARENA_MAX = -8  # of malloc.h


@dataclass(frozen=True, slots=True)
class Target:
    """The output of a batch: the file `out`, or standard output if it is None."""

    out: Path | None
    resume: bool
    force: bool
    retry: bool = False  # retry the failed rows of a resumed run

    @property
    def keeps(self) -> bool:
        """Whether the output is a regular file, not a pipe or a device."""
        return self.out is not None and (self.out.is_file() or not self.out.exists())

    def check_continues(
        self, session: Session, descriptor: int, *, has_passages: bool, strategy: str, as_given: bool
    ) -> None:
        """Raise InputError if the file holds answers of a different run, before any call."""
        if self.out is not None and self.out.is_file() and self.out.stat().st_size:
            planned = partial(session.plan, strategy=strategy, as_given=as_given)
            state = _state(session, planned, planned(has_passages=has_passages), surveyed(descriptor))
            check_continues(self.out.resolve(), state, retry=self.retry)


class _Interrupted(Exception):
    """A signal stopped the batch."""


def in_session(run: Run, answering: Answering, work: Callable[[Session], Awaitable[T]], *, detailed: bool = True) -> T:
    """Return the result of `work`, run with the command line's session. Plugins' prints go to stderr.

    Raises KeyboardInterrupt if a signal stops the batch.
    """
    _share_arenas()

    async def work_in_session(session: Session) -> T:
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            # asyncio's own handler would wait for the event loop, which a slow read or write can block.
            signal.signal(signal.SIGINT, signal.default_int_handler)
        async with session:
            result = await work(session)
        if session.trouble:
            run.say(session.trouble)
        return result

    with plugins_write_to_stderr():
        session = open_session(run, answering, detailed=detailed)
        try:
            return asyncio.run(work_in_session(session))
        except _Interrupted:
            raise KeyboardInterrupt from None


async def answer_rows(
    run: Run,
    session: Session,
    descriptor: int,
    target: Target,
    *,
    strategy: str | None = None,
    as_given: bool = False,
    has_passages: bool | None = None,
    ordered: bool = True,
    **how: Any,
) -> Tally:
    """Answer the rows of an open file. Call it only inside `in_session`.

    `has_passages` says whether the rows bring passages. None: the first row decides. `how` goes to Batch. The
    returned tally includes failures of earlier runs.

    Raises ConfigError or MissingError before any call if the rows cannot be answered, CallError if every further
    row would fail, BrokenPipeError if the reader of the output has closed it.
    """
    survey = surveyed(descriptor) if target.keeps else (None, False)  # before any row is read
    lines = Lines(descriptor)
    planned = partial(session.plan, strategy=strategy, as_given=as_given)
    if has_passages is None:
        plan = await plan_for_first(planned, lines, run.say)
    else:
        plan = planned(has_passages=has_passages)
    with _output(target, partial(_state, session, planned, plan, survey)) as output:
        file = output if isinstance(output, OutFile) else None
        done = file.has if file else None
        answer = partial(session.answer, strategy=strategy, as_given=as_given)
        batch = Batch(answer, lines, output, ordered=ordered, done=done, **how)
        size = os.fstat(descriptor).st_size if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
        on_terminal = target.out is None and os.isatty(stdout.descriptor())
        progress = watch(run, batch.tally, size, answers_on_terminal=on_terminal, label=strategy or "")
        watching = asyncio.create_task(progress)
        resumable = file is not None
        try:
            with stoppable(batch, partial(_say_interrupted, run, batch.tally, resumable=resumable)):
                await batch.run()
        finally:
            watching.cancel()
            await asyncio.wait({watching})
        _finish(run, batch, strategy or "", resumable=resumable)
        if file:
            batch.tally.failed += file.failed
            if target.resume and ordered:
                file.put_in_order()
            batch.tally.unreadable += file.unreadable
            _say_failures(run, batch.tally)
        return batch.tally


def answer_stream(
    run: Run, source: Path, target: Target, answering: Answering, *, batches: Path | None = None, **how: Any
) -> int:
    """Answer the rows of `source`, see `answer_rows`. Return the number of failed rows, including earlier runs.

    `batches` is the file that records the provider's batches, None for ordinary calls.
    """
    with _open_input(source) as descriptor:
        if _same(stdout.descriptor() if target.out is None else target.out, descriptor):
            raise click.UsageError(f"{target.out or 'Standard output'} is also the input file.")

        async def work(session: Session) -> int:
            if batches is not None:
                await session.use_provider_batches(batches, run.say)
            return (await answer_rows(run, session, descriptor, target, **how)).failed

        return in_session(run, answering, work, detailed=bool(how.get("trace")))


@contextmanager
def _open_input(source: Path) -> Iterator[int]:
    """Return the input's file descriptor."""
    if source == Path("-"):
        if sys.stdin is not None and sys.stdin.isatty():
            raise click.UsageError("Missing questions: give a file, or pipe them to stdin.")
        yield _STDIN
        return
    try:
        file = source.open("rb", buffering=0)
    except OSError as error:
        raise InputError(f"Cannot read {source}: {error.strerror}.") from error
    with file:
        yield file.fileno()


def _state(session: Session, planned: Callable[..., Plan], plan: Plan | None, survey: tuple[str | None, bool]) -> State:
    content, lacking = survey
    if plan is None:
        return State.of(session.assembly.config, None, content)
    found = retrieved(session, plan, partial(planned, has_passages=False) if lacking else None)
    judged = session.judged(plan.name, chain(*found.values()))
    return State.of(session.assembly.config, plan, content, found, judged=judged)


@contextmanager
def _output(target: Target, state: Callable[[], State]) -> Iterator[OutFile | Stream]:
    if target.out is None:
        yield Stream(stdout.descriptor(), "standard output")
    elif target.keeps:
        output = OutFile(target.out, state(), resume=target.resume, retry=target.retry, force=target.force)
        try:
            yield output
        finally:
            output.close()
    elif target.resume:
        raise InputError(f"Cannot resume: {target.out} is not a regular file.")
    else:
        try:
            file = target.out.open("ab", buffering=0)
        except OSError as error:
            raise InputError(f"Cannot write {target.out}: {error.strerror}.") from error
        with file:
            yield Stream(file.fileno(), str(target.out))


def _same(output: int | Path, descriptor: int) -> bool:
    """Return whether the output is the same file as the input."""
    try:
        status = os.fstat(output) if isinstance(output, int) else output.stat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and os.path.samestat(status, os.fstat(descriptor))


def _share_arenas() -> None:
    """Limit the number of malloc arenas. With one arena per thread, glibc's memory grows over a long run."""
    with suppress(OSError, AttributeError):  # not glibc
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 2)


def _finish(run: Run, batch: Batch, label: str, *, resumable: bool) -> None:
    """Print the summary. Raise an error if the batch stopped early."""
    if batch.tally.finished or not batch.trouble:
        _summarise(run, batch.tally, label)
    if batch.trouble:
        raise CallError(
            f"Stopped, because every further row would fail: {batch.trouble.message}",
            hint=f"{batch.trouble.hint}\n{_how_to_continue(batch.tally, resumable=resumable)}".strip(),
        )
    if batch.stopped:
        _say_interrupted(run, batch.tally, resumable=resumable)
        raise _Interrupted


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
