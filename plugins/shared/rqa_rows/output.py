"""The output of a batch: a stream, or a locked file that a later run can continue."""

from __future__ import annotations

import fcntl
import os
import select
import stat
import zlib
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, BinaryIO, Self

import msgspec
from msgspec import Meta, Raw

from robust_qa import BusyError, InputError, RqaError
from robust_qa.cli import descriptor
from robust_qa.kit import atomic_write, printable_json

from .output_formats import format_of, rendered, write_workbook
from .rows import ParsedRow, parse_row
from .state import NEW_RUN, State

_LINES_KEPT = "The lines written so far are complete. Free some disk space and continue with --resume."


class Stream:
    """Standard output, or a pipe or device. No later run can continue it."""

    failed = unreadable = 0

    def __init__(self, descriptor: int, name: str) -> None:
        self.name = name
        self._descriptor = descriptor

    @property
    def blocking(self) -> bool:
        """Whether a write may wait: for a pipe, a socket or a terminal."""
        mode = os.fstat(self._descriptor).st_mode
        return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(self._descriptor)

    def write(self, lines: Sequence[bytes]) -> None:
        """Write the lines, one write each. Raises BrokenPipeError if the pipe is closed."""
        is_terminal = os.isatty(self._descriptor)
        for line in lines:
            _write(self._descriptor, printable_json(line) if is_terminal else line, self.name)

    def has(self, number: int, row: bytes) -> bool:
        """Whether an earlier run answered the row."""
        return False

    def finish(self) -> None:
        """Do nothing: all lines are written, in their order."""


@contextmanager
def open_stream(out: str | None, *, resume: bool) -> Iterator[Stream]:
    """Open standard output, or `out`, which is not a regular file. Raises InputError."""
    if out is None:
        yield Stream(descriptor(), "standard output")
        return
    if (form := format_of(out)) != "jsonl":
        raise InputError(f"Cannot write {form} to {out}, which is not a regular file.")
    if resume:
        raise InputError(f"Cannot resume: {out} is not a regular file.")
    try:
        file = Path(out).open("ab", buffering=0)  # noqa: SIM115  (closed below)
    except OSError as error:
        raise InputError(f"Cannot write {out}: {error.strerror}.") from error
    with file:
        yield Stream(file.fileno(), out)


class OutFile:
    """The output file, open and locked.

    A name with another ending than .jsonl gets its rows from a file of JSON lines beside it, when the run ends. That
    file stays only while a row is missing or failed.

    `failed` is the number of rows in it with an error. `unreadable` counts those whose input was not a valid row.
    `lost`: the state of the run that wrote the rows is missing or damaged. Then the rows are compared with the input.
    Finished rows stay in the file after a crash. An incomplete last line is removed and its row runs again.
    """

    def __init__(
        self,
        path: Path,
        state: State,
        *,
        resume: bool = False,
        retry: bool = False,
        force: bool = False,
        delimiter: str = ",",
        raw: bool = False,
    ) -> None:
        """Open `path`. `resume` continues the run that wrote it, `retry` also removes its failed rows.

        `delimiter` and `raw`: see `rendered`. Raises InputError if the file has lines of another run, or lines and no
        `resume` or `force`. Raises BusyError if another process is writing the file.
        """
        self._out = path.resolve()
        self._form = format_of(path)
        self._rendered = partial(rendered, delimiter=delimiter, raw=raw)
        self.path = rows_file(self._out)  # of JSON lines
        if self.path != self._out and not force:
            _check_unchanged(self._out, self.path)
        self.failed = 0
        self.unreadable = 0
        self.lost = False
        self._is_whole = False
        self._resume = resume
        self._state = state
        self._compare = state.input is None  # a stream has no digest, so compare its rows
        self._hashes = array("I")  # of each row's question, by row number; 0: the file lacks the row
        self._descriptor = _open(self.path)
        try:
            self._begin(resume=resume, retry=retry, force=force)
            if retry:
                self._drop_failed()
            self._load_rows()
        except BaseException:  # also on Ctrl-C: release the lock
            self.close()
            raise

    def close(self) -> None:
        """Close the file and release its lock."""
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._render()  # also if the run was stopped
            if self._is_whole and self.path != self._out:
                self.path.unlink()
                _state_file(self._out).unlink(missing_ok=True)
        finally:
            self.close()

    def has(self, number: int, line: bytes) -> bool:
        """Whether the file has that row. Raises InputError if it has another question under that number."""
        if number >= len(self._hashes) or not self._hashes[number]:
            return False
        if self._compare and self._hashes[number] not in _hashes_of(line, number):
            raise InputError(
                f"Row {number} of the input is not the row that {self.path} answers.",
                hint=f"Use the same input as before. {NEW_RUN}",
            )
        return True

    def write(self, lines: Sequence[bytes]) -> None:
        """Append the lines, one write each. Raises RqaError if the file was deleted."""
        if not os.fstat(self._descriptor).st_nlink and not self.path.exists():
            raise RqaError(
                f"{self.path} was deleted while rqa was writing it.", hint="Its lines are lost. Run the batch again."
            )
        if lines and self.lost:  # not earlier: a wrong input must not become that of the run
            self._save()
            self.lost = False
        for line in lines:
            _write(self._descriptor, line, str(self.path), hint=_LINES_KEPT)

    def finish(self) -> None:
        """Sort the lines by row number if an interruption left them out of order. Replaces the file atomically."""
        if not self._resume and self.path == self._out:
            return
        rows, ends = array("Q"), array("Q", [0])
        self._is_whole = True
        for end, written in self._lines():
            rows.append(written.row)
            ends.append(end)
            self._is_whole &= written.error is None
        if any(rows[n - 1] > rows[n] for n in range(1, len(rows))):
            self._rewrite(sorted(range(len(rows)), key=rows.__getitem__), ends)

    def _render(self) -> None:
        """Write the rows in the format of the output, unless that is JSON lines. Replaces the file atomically."""
        if self.path == self._out:
            return
        try:
            with atomic_write(self._out) as file:
                if self._form == "xlsx":
                    write_workbook(file, self._whole_lines)
                else:
                    file.writelines(map(str.encode, self._rendered(self._whole_lines, self._form)))
                file.flush()
                written = self.path.stat().st_mtime_ns
                os.utime(file.fileno(), ns=(written, written))  # a later time shows that somebody changed the file
        except OSError as error:
            raise RqaError(
                f"Cannot write {self._out}: {error.strerror}.",
                hint=f"No row is lost: all are in {self.path}. Free some disk space and run again with --resume.",
            ) from error

    def _whole_lines(self) -> Iterator[bytes]:
        with self._read() as file:
            yield from (line for line in file if line.endswith(b"\n"))

    def _drop_failed(self) -> None:
        kept, ends = array("Q"), array("Q", [0])
        for number, (end, written) in enumerate(self._lines()):
            if written.error is None:
                kept.append(number)
            ends.append(end)
        if len(kept) < len(ends) - 1:
            self._rewrite(kept, ends)

    def _rewrite(self, places: Sequence[int], ends: Sequence[int]) -> None:
        """Replace the file by one with the lines at `places`, in that order. The new file is locked too."""
        try:
            with atomic_write(self.path) as draft, self._read() as source:
                for n in places:
                    source.seek(ends[n])
                    draft.write(source.read(ends[n + 1] - ends[n]))
                descriptor = _open(Path(draft.name))
        except OSError as error:
            raise RqaError(
                f"Cannot rewrite {self.path}: {error.strerror}.",
                hint=f"No line is lost. {_LINES_KEPT}",
            ) from error
        os.close(self._descriptor)
        self._descriptor = descriptor

    def _read(self) -> BinaryIO:
        """The locked file, from its start."""
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        return os.fdopen(os.dup(self._descriptor), "rb")

    def _begin(self, *, resume: bool, retry: bool, force: bool) -> None:
        if os.fstat(self._descriptor).st_size == 0 or force:
            self._save(clear=True)
            return
        if not resume:
            raise InputError(
                f"{self.path} already exists.", hint=f"Use `--resume` to continue the run that wrote it. {NEW_RUN}"
            )
        self.lost = not check_continues(self._out, self._state, retry=retry)
        self._compare |= self.lost
        if retry and not self.lost:
            self._save()  # failed rows may now be answered by a retriever that was missing

    def _save(self, *, clear: bool = False) -> None:
        """Write the state atomically. `clear` removes all rows once it is on disk, before it replaces their own."""
        state_file = _state_file(self._out)
        try:
            with atomic_write(state_file, 0o600) as file:
                file.write(msgspec.json.format(msgspec.json.encode(self._state), indent=2) + b"\n")
                if clear:
                    file.flush()
                    os.fsync(file.fileno())
                    os.ftruncate(self._descriptor, 0)
                    os.fsync(self._descriptor)
        except OSError as error:
            raise InputError(f"Cannot write {state_file}: {error.strerror}.") from error

    def _load_rows(self) -> None:
        """Read which rows the file has."""
        for _, line in self._lines():
            if line.row >= len(self._hashes):
                self._hashes.extend([0] * (line.row + 1 - len(self._hashes)))
            self._hashes[line.row] = _hash(line.question, line.id, line.passages)
            if line.error is not None:
                self.failed += 1
                self.unreadable += line.error.type == InputError.__name__

    def _lines(self) -> Iterator[tuple[int, _Line]]:
        """The lines of the file, each with the offset of its end. Removes an incomplete last line."""
        end = 0
        with self._read() as file:
            for number, line in enumerate(file, start=1):
                start, end = end, end + len(line)
                if not line.endswith(b"\n"):
                    if self.lost and not start:
                        raise InputError(f"{self.path} has no whole row of a batch.", hint=NEW_RUN)
                    os.ftruncate(self._descriptor, start)
                    return
                try:
                    yield end, _decode_line(line)
                except (msgspec.DecodeError, RecursionError) as error:
                    raise InputError(
                        f"Line {number} of {self.path} was not written by a batch.", hint=NEW_RUN
                    ) from error


def check_continues(path: Path, state: State, *, retry: bool = False) -> bool:
    """Whether the state of the run that wrote the lines at `path` is known. `retry` as in `State.check_continues`.

    Raises InputError if it is another one than `state`.
    """
    stored = State.load(_state_file(path))
    if stored is not None:
        stored.check_continues(state, str(path), retry=retry)
    return stored is not None


def _check_unchanged(out: Path, rows: Path) -> None:
    """Raises InputError if the file `out` was not written from the file `rows`."""
    try:
        if not out.stat().st_size or out.stat().st_mtime_ns <= rows.stat().st_mtime_ns:
            return
    except FileNotFoundError:
        if not out.exists():
            return
        raise InputError(f"{out} already exists, and {rows.name} does not.", hint=NEW_RUN) from None
    raise InputError(f"{out} was changed after rqa wrote it.", hint="Rename it, so that rqa can write its rows there.")


def rows_file(out: Path) -> Path:
    """The file of JSON lines with the rows of the output `out`: itself, or one beside it for another format."""
    return out if format_of(out) == "jsonl" else out.with_name(f"{out.name}.jsonl")


def _state_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.state.json")


class _Error(msgspec.Struct):
    type: str = ""


class _Line(msgspec.Struct):
    """The fields of an output line that resuming needs."""

    row: Annotated[int, Meta(ge=1)]
    question: Raw = Raw()
    id: Raw = Raw()
    passages: Raw = Raw()
    error: _Error | None = None


_decode_line = msgspec.json.Decoder(_Line).decode


def _open(path: Path) -> int:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise InputError(f"Cannot write {path}: {error.strerror}.", hint="Choose another file with -o.") from error
    if not _locked(descriptor):
        os.close(descriptor)
        raise BusyError(f"Another process is writing {path}.", hint="Wait for it to end, or choose another file.")
    return descriptor


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # the file system has no locks
    return True


def _hashes_of(line: bytes, number: int) -> tuple[int, int]:
    """The hashes of a row with its passages and without them."""
    try:
        row = parse_row(line, number)
    except InputError:
        row = ParsedRow(number, {})
    fields = row.fields
    question = fields.get(row.column, Raw()), fields.get("id", Raw())
    return _hash(*question, fields.get("passages", Raw())), _hash(*question)


def _hash(*fields: Raw) -> int:
    checksum = 0
    for field in fields:
        checksum = zlib.crc32(field, checksum)
    return checksum or 1


def _write(descriptor: int, line: bytes, name: str, *, hint: str = "") -> None:
    rest = memoryview(line)
    try:
        while rest:
            try:
                rest = rest[os.write(descriptor, rest) :]
            except BlockingIOError:  # another process that shares the pipe made it non-blocking
                select.select([], [descriptor], [])
    except BrokenPipeError:
        raise
    except OSError as error:
        raise RqaError(f"Cannot write {name}: {error.strerror}.", hint=hint) from error
