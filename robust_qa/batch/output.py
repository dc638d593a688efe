"""Where a batch writes: a stream, or a file that is locked while it is written and whole after a crash."""

from __future__ import annotations

import fcntl
import os
import select
import stat
import zlib
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, BinaryIO

import msgspec
from msgspec import Meta, Raw

from ..errors import BusyError, InputError, RqaError
from ..sanitize import printable_json
from .resume import State
from .rows import parse_row

_LINES_STAND = "The lines that are there stand. Make room, and run it again with --resume."
_START_AGAIN = "Start again with --force."
_MOST_ROWS = 10_000_000  # that any file may name; 40 MB of marks
_NEW_RUN = "`--force` replaces the file by a new run's."


class Stream:
    """Standard output, or any file that lines are sent to and not kept in."""

    def __init__(self, descriptor: int, name: str) -> None:
        self.name = name
        self._descriptor = descriptor

    @property
    def blocking(self) -> bool:
        """Whether a write may wait for a reader: a pipe, a socket or a terminal."""
        mode = os.fstat(self._descriptor).st_mode
        return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(self._descriptor)

    def write(self, lines: Sequence[bytes]) -> None:
        """Send the lines, each in one write. Raises BrokenPipeError when the reader has gone."""
        shown = os.isatty(self._descriptor)
        for line in lines:
            _write(self._descriptor, printable_json(line) if shown else line, self.name)


class OutFile:
    """The file OUT, open and locked, and what earlier runs left in it: `failed` counts the rows with an error, and
    `unreadable` those of them that were no rows.

    A row that was written stays, whatever happens, unless it failed and is to be tried again; a line that a crash tore
    is removed. In a file that interruptions left out of order the lines are sorted by `put_in_order`.
    """

    blocking = False

    def __init__(
        self, path: Path, state: State, *, resume: bool = False, retry: bool = False, force: bool = False
    ) -> None:
        """Open `path` for a new run, or for continuing the run that wrote it, with `retry` without its failures.

        Raises InputError when it has lines and neither is asked for, or is not of this run; BusyError when
        another process is writing it.
        """
        self.path = path.resolve()
        self.failed = 0
        self.unreadable = 0
        self._marks = array("I")  # by row number: what the row asks, hashed; 0 when it is not there
        self._compare = state.input is None  # a stream cannot be recognised but by its rows
        self._descriptor = _open(self.path)
        try:
            self._begin(state, resume=resume, retry=retry, force=force)
            if retry:
                self._drop_failed()
            self._remember()
        except BaseException:  # also when interrupted: the lock must go
            self.close()
            raise

    def close(self) -> None:
        """Close it, and let others have it."""
        os.close(self._descriptor)

    def has(self, number: int, line: bytes) -> bool:
        """Whether the file has that row. InputError when the row of a stream asks something else than there."""
        if number >= len(self._marks) or not self._marks[number]:
            return False
        if self._compare and self._marks[number] not in _marks_of(line, number):
            raise InputError(
                f"Row {number} of the input is not the one that {self.path} has an answer to.",
                hint=f"Give the input that the run was begun with. {_NEW_RUN}",
            )
        return True

    def write(self, lines: Sequence[bytes]) -> None:
        """Append the lines, each in one write. RqaError where the file was removed, and they would go nowhere."""
        if not os.fstat(self._descriptor).st_nlink and not _is_at(self.path, self._descriptor):
            raise RqaError(f"{self.path} was removed while it was written.", hint="Its lines are lost. Run it again.")
        for line in lines:
            _write(self._descriptor, line, str(self.path), hint=_LINES_STAND)

    def put_in_order(self) -> None:
        """Sort the lines by row where they are not; the file changes in one step, or not at all."""
        rows, ends = array("Q"), array("Q", [0])
        for end, written in self._lines():
            rows.append(written.row)
            ends.append(end)
        if any(rows[n - 1] > rows[n] for n in range(1, len(rows))):
            self._rewrite(sorted(range(len(rows)), key=rows.__getitem__), ends)

    def _drop_failed(self) -> None:
        kept, ends = array("Q"), array("Q", [0])
        for number, (end, written) in enumerate(self._lines()):
            if written.error is msgspec.UNSET:
                kept.append(number)
            ends.append(end)
        if len(kept) < len(ends) - 1:
            self._rewrite(kept, ends)

    def _rewrite(self, places: Sequence[int], ends: Sequence[int]) -> None:
        """Keep the lines at `places` alone, in that order; the file is replaced whole, by one locked as well."""
        draft = self.path.with_name(f".{self.path.name}.draft")
        try:
            draft.unlink(missing_ok=True)
            descriptor = _open(draft)
            try:
                self._copy(descriptor, places, ends)
                if not (_is_at(self.path, self._descriptor) and _is_at(draft, descriptor)):
                    raise RqaError(
                        f"{self.path} was moved while it was written.",
                        hint="Its lines are all there, where it is now, and each says its row.",
                    )
                draft.replace(self.path)
            except BaseException:  # also when interrupted: the lock must go
                os.close(descriptor)
                draft.unlink(missing_ok=True)
                raise
        except OSError as error:
            raise RqaError(
                f"Rewriting {self.path} failed: {error.strerror}.",
                hint="Its lines are all there, and each says its row. Make room, and run it again with --resume.",
            ) from error
        os.close(self._descriptor)
        self._descriptor = descriptor

    def _copy(self, descriptor: int, places: Sequence[int], ends: Sequence[int]) -> None:
        with self._read() as source, os.fdopen(descriptor, "wb", closefd=False) as target:
            os.fchmod(descriptor, stat.S_IMODE(os.fstat(source.fileno()).st_mode))
            for n in places:
                source.seek(ends[n])
                target.write(source.read(ends[n + 1] - ends[n]))
            target.flush()
            os.fsync(descriptor)

    def _read(self) -> BinaryIO:
        """The file that is locked, from its start; at its path there may be another one by now."""
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        return os.fdopen(os.dup(self._descriptor), "rb")

    def _begin(self, state: State, *, resume: bool, retry: bool, force: bool) -> None:
        state_file = _state_file(self.path)
        if os.fstat(self._descriptor).st_size == 0 or force:
            draft = state_file.with_name(f"{state_file.name}.new")
            state.save(draft)  # before anything is lost: where this fails, there is no new run
            try:
                state_file.unlink(missing_ok=True)  # rows of a run without a state are not taken for another run's
            except OSError as error:
                draft.unlink()
                raise InputError(f"Cannot write {state_file}: {error.strerror}.") from error
            os.ftruncate(self._descriptor, 0)
            draft.replace(state_file)
            return
        if not resume:
            raise InputError(
                f"{self.path} is there already.", hint=f"`--resume` continues the run that wrote it. {_NEW_RUN}"
            )
        check_continues(self.path, state, retry=retry)
        if retry:
            state.save(state_file)  # rows that failed may be answered from what was not there before

    def _remember(self) -> None:
        """Learn which rows are there."""
        most = max(_MOST_ROWS, os.fstat(self._descriptor).st_size)  # a row takes more than a byte
        for _, line in self._lines():
            if line.row > most:
                raise _changed(f"{self.path} names row {line.row}, and has too few lines for that.")
            if line.row >= len(self._marks):
                self._marks.extend([0] * (line.row + 1 - len(self._marks)))
            self._marks[line.row] = _mark(line.question, line.id, line.passages)
            if line.error is not msgspec.UNSET:
                self.failed += 1
                self.unreadable += line.error.type == InputError.__name__

    def _lines(self) -> Iterator[tuple[int, _Line]]:
        """The lines of the file, each with the offset of its end; the last one is mended if it is torn."""
        end = 0
        with self._read() as file:
            for number, line in enumerate(file, start=1):
                start, end = end, end + len(line)
                try:
                    yield end, _decode_line(line)
                except RecursionError as error:
                    raise _changed(f"Line {number} of {self.path} is nested too deeply.") from error
                except msgspec.DecodeError as error:
                    if file.read(1):
                        raise InputError(f"Line {number} of {self.path} is not of a batch.", hint=_NEW_RUN) from error
                    os.ftruncate(self._descriptor, start)
                    return
                if not line.endswith(b"\n"):  # whole but for its end
                    _write(self._descriptor, b"\n", str(self.path))
                    return


def check_continues(path: Path, state: State, *, retry: bool = False) -> None:
    """InputError where the run that wrote the lines at `path` is another than that of this `state`.

    With `retry` as State.changes says.
    """
    try:
        changes = State.load(_state_file(path)).changes(state, retry=retry)
    except RecursionError as error:
        raise _changed(f"{_state_file(path)} is nested too deeply.") from error
    except InputError as error:
        raise InputError(f"{path} cannot be continued: {error.message}", hint=_NEW_RUN) from error
    if changes:
        raise InputError(
            f"{path} cannot be continued: {'; '.join(changes)}.",
            hint=f"Continue it with what it was begun with. {_NEW_RUN}",
        )


def _changed(how: str) -> InputError:
    return InputError(f"{how} This output was changed.", hint=_START_AGAIN)


def _state_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.state.json")


class _Error(msgspec.Struct):
    type: str = ""


class _Line(msgspec.Struct):
    """What is read back of an output line."""

    row: Annotated[int, Meta(ge=1)]
    question: Raw = Raw()
    id: Raw = Raw()
    passages: Raw = Raw()
    error: _Error | msgspec.UnsetType = msgspec.UNSET


_decode_line = msgspec.json.Decoder(_Line).decode


def _open(path: Path) -> int:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise InputError(f"Cannot write {path}: {error.strerror}.") from error
    if not _locked(descriptor, path):
        os.close(descriptor)
        raise BusyError(f"Another process is writing {path}.", hint="Wait for it to end, or choose another file.")
    return descriptor


def _locked(descriptor: int, path: Path) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # the file system has no locks
    # Another run may have put the file in order, and so replaced it, since it was opened.
    return _is_at(path, descriptor)


def _is_at(path: Path, descriptor: int) -> bool:
    return path.exists() and os.path.samestat(path.stat(), os.fstat(descriptor))


def _marks_of(line: bytes, number: int) -> tuple[int, int]:
    """The mark of a row that keeps its passages, and where they were left out."""
    try:
        fields = parse_row(line, number).fields
    except InputError:
        fields = {}
    asked = fields.get("question", Raw()), fields.get("id", Raw())
    return _mark(*asked, fields.get("passages", Raw())), _mark(*asked)


def _mark(*fields: Raw) -> int:
    mark = 0
    for field in fields:
        mark = zlib.crc32(field, mark)
    return mark or 1


def _write(descriptor: int, line: bytes, name: str, *, hint: str = "") -> None:
    rest = memoryview(line)
    try:
        while rest:
            try:
                rest = rest[os.write(descriptor, rest) :]
            except BlockingIOError:  # whoever shares the stream with us may have made it so
                select.select([], [descriptor], [])
    except BrokenPipeError:
        raise
    except OSError as error:
        raise RqaError(f"Writing {name} failed: {error.strerror}.", hint=hint) from error
