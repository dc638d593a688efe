"""A batch as a process: its input and output, its signals, and what it says at the end."""

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
from .batch_progress import rate, tell_first_failure, watch
from .options import Answering
from .run import Run
from .stopping import stoppable

T = TypeVar("T")

_STDIN = 0
_M_ARENA_MAX = -8  # of malloc.h


@dataclass(frozen=True, slots=True)
class Target:
    """Where answers go: the file `out`, or standard output."""

    out: Path | None
    resume: bool
    force: bool
    retry: bool = False  # of a continued run: answer the rows that failed again

    @property
    def keeps(self) -> bool:
        """Whether what is written stays, as it does not in a pipe or a device."""
        return self.out is not None and (self.out.is_file() or not self.out.exists())

    def check_continues(
        self, session: Session, descriptor: int, *, has_passages: bool, strategy: str, as_given: bool
    ) -> None:
        """InputError where it holds answers of another run than answer_rows would continue; nothing is asked."""
        if self.out is not None and self.out.is_file() and self.out.stat().st_size:
            planned = partial(session.plan, strategy=strategy, as_given=as_given)
            state = _state(session, planned, planned(has_passages=has_passages), surveyed(descriptor))
            check_continues(self.out.resolve(), state, retry=self.retry)


class _Interrupted(Exception):
    """The batch was stopped by a signal."""


def in_session(run: Run, answering: Answering, work: Callable[[Session], Awaitable[T]], *, detailed: bool = True) -> T:
    """What `work` gives, done with a session as the command line asks for it; what plugins print goes to stderr.

    Raises KeyboardInterrupt when it is interrupted.
    """
    _share_arenas()

    async def whole(session: Session) -> T:
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            # asyncio's own would wait for what holds the loop: a file that is read back, a FIFO that nobody reads.
            signal.signal(signal.SIGINT, signal.default_int_handler)
        async with session:
            result = await work(session)
        if session.trouble:
            run.say(session.trouble)
        return result

    with plugins_write_to_stderr():
        session = open_session(run, answering, detailed=detailed)
        try:
            return asyncio.run(whole(session))
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
    """Answer the rows of an open file by Session.answer; `how` is for Batch. Works inside `in_session` only.

    The tally counts earlier runs' failures in. Raises ConfigError or MissingError, before anything is asked, where
    rows that bring passages, or do not, cannot be answered, CallError where the run stopped as every further row would
    fail, and BrokenPipeError when the reader of the answers has gone. Where `has_passages` does not say which rows to
    look at, the first one does.
    """
    survey = surveyed(descriptor) if target.keeps else (None, False)  # before anything is read
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
        aloud = target.out is None and os.isatty(stdout.descriptor())
        progress = watch(run, batch.tally, size, answers_on_terminal=aloud, label=strategy or "")
        watching = asyncio.create_task(progress)
        resumable = file is not None
        try:
            with stoppable(batch, partial(_say_interrupted, run, batch.tally, resumable=resumable)):
                await batch.run()
        finally:
            watching.cancel()
            await asyncio.wait({watching})
        _tell_end(run, batch, strategy or "", resumable=resumable)
        if file:
            batch.tally.failed += file.failed
            if target.resume and ordered:
                file.put_in_order()
            batch.tally.unreadable += file.unreadable
            _say_what_failed(run, batch.tally)
        return batch.tally


def answer_stream(run: Run, source: Path, target: Target, answering: Answering, **how: Any) -> int:
    """Answer the rows of `source` as `answer_rows` does. The number of failed rows, earlier runs' included."""
    with _opened(source) as descriptor:
        if _same(stdout.descriptor() if target.out is None else target.out, descriptor):
            raise click.UsageError(f"{target.out or 'Standard output'} is the input itself.")

        async def work(session: Session) -> int:
            return (await answer_rows(run, session, descriptor, target, **how)).failed

        return in_session(run, answering, work, detailed=bool(how.get("trace")))


@contextmanager
def _opened(source: Path) -> Iterator[int]:
    """The input's file descriptor."""
    if source == Path("-"):
        if sys.stdin is not None and sys.stdin.isatty():
            raise click.UsageError("Missing the questions: name a file, or pipe them in.")
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
        raise InputError(f"{target.out} is no regular file: it keeps nothing to continue.")
    else:
        try:
            file = target.out.open("ab", buffering=0)
        except OSError as error:
            raise InputError(f"Cannot write {target.out}: {error.strerror}.") from error
        with file:
            yield Stream(file.fileno(), str(target.out))


def _same(output: int | Path, descriptor: int) -> bool:
    """Whether what is written to a file by its descriptor or path would be read again."""
    try:
        status = os.fstat(output) if isinstance(output, int) else output.stat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and os.path.samestat(status, os.fstat(descriptor))


def _share_arenas() -> None:
    """Hold memory flat over a long run: glibc gives each thread an arena of its own, and none gives back."""
    with suppress(OSError, AttributeError):  # not glibc
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 2)


def _tell_end(run: Run, batch: Batch, label: str, *, resumable: bool) -> None:
    """Say what was done, and raise why that is not all, with the way to go on."""
    if batch.tally.finished or not batch.trouble:
        _summarise(run, batch.tally, label)
    if batch.trouble:
        raise CallError(
            f"Stopped, as every further row would fail: {batch.trouble.message}",
            hint=f"{batch.trouble.hint}\n{_how_to_continue(batch.tally, resumable=resumable)}".strip(),
        )
    if batch.stopped:
        _say_interrupted(run, batch.tally, resumable=resumable)
        raise _Interrupted


def _say_interrupted(run: Run, tally: Tally, *, resumable: bool) -> None:
    run.say(f"interrupted; {_how_to_continue(tally, resumable=resumable)}")


def _summarise(run: Run, tally: Tally, label: str) -> None:
    counts = {"answered": tally.answered, "abstained": tally.abstained, "failed": tally.failed}
    told = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count) or "nothing to do"
    rows = "1 row" if tally.finished == 1 else f"{tally.finished:,} rows"
    line = f"{rows} in {tally.seconds:.1f} s ({rate(tally):.1f} rows/s): {told}"
    if tally.done:
        line += f"; {tally.done:,} were done before"
    if tally.blank:
        line += f"; {tally.blank:,} blank {'line' if tally.blank == 1 else 'lines'} passed over"
    usage = tally.usage
    if usage.calls:
        cached = f" ({usage.cached:,} cached)" if usage.cached else ""
        line += f"; {usage.calls:,} calls{cached}, {usage.prompt_tokens:,} + {usage.completion_tokens:,} tokens"
    run.say(f"{label}: {line}" if label else line)
    tell_first_failure(run, tally)


def _say_what_failed(run: Run, tally: Tally) -> None:
    if tally.unreadable:
        run.say(f"rows that cannot be read: {tally.unreadable:,}; mend them, and answer them as an input of their own")
    if failed := tally.failed - tally.unreadable:
        run.say(f"rows that failed: {failed:,}; --retry-failed answers them again")


def _how_to_continue(tally: Tally, *, resumable: bool) -> str:
    """The command that does, which answers those again that failed for no fault of their own."""
    if not resumable:
        return "with -o OUT a run can be continued"
    arguments = sys.argv[1:]
    end = arguments.index("--") if "--" in arguments else len(arguments)  # of the options
    options = [option for option in arguments[:end] if option not in ("--resume", "--retry-failed", "--force")]
    way = "--retry-failed" if tally.general else "--resume"
    return f"continue with: {shlex.join(['rqa', *options, way, *arguments[end:]])}"
