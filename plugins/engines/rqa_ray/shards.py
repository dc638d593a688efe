"""The output of a run: a folder of shards with a manifest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from robust_qa import BusyError, InputError, RqaError
from robust_qa.kit import atomic_write

from .source import filesystem

if TYPE_CHECKING:
    from rqa_rows import Job

Format = Literal["jsonl", "parquet"]
_MANIFEST = "manifest.json"
_FORCE = "Use `--force` to start again and replace the answers."


class Shard(msgspec.Struct, frozen=True):
    """A finished shard, as the manifest lists it."""

    name: str
    rows: int
    failed: int
    unreadable: int
    sha256: str


class Manifest(msgspec.Struct):
    """The content of manifest.json. `state` is what the answers depend on: input and configuration.

    `configuration` is the SHA-256 of the state. A file that `shards` does not list is not part of the output.
    """

    format: Format
    shard_rows: int
    configuration: str
    state: msgspec.Raw
    shards: dict[int, Shard] = {}


class _Written(msgspec.Struct):
    """The fields of an output line that become columns of a Parquet file, or are counted."""

    row: int
    id: Any = None
    question: str | None = None
    answer: str | None = None
    abstained: bool | None = None
    confidence: float | None = None
    strategy: str | None = None
    seconds: float | None = None
    error: dict[str, Any] | None = None


_Line = tuple[_Written, bytes]
_decode = msgspec.json.Decoder(_Written, strict=False).decode


class Shards:
    """A folder of shards. Shard n has the answers to input lines n * shard_rows + 1 and following, in order.

    A shard appears whole, and then in the manifest. If the run ends between the two, it is written again.
    """

    def __init__(self, url: str, manifest: Manifest, *, retry: bool = False) -> None:
        self._fs, self._folder = filesystem(url)
        self._manifest = manifest
        self._retry = retry
        self._lines: dict[int, list[_Line]] = {}  # of unfinished shards
        self._missing: dict[int, int] = {}  # the number of lines that each of them lacks
        self._reading = -1  # the shard whose rows are being read
        self._is_finished = False  # whether an earlier run finished that shard
        self._kept: frozenset[int] = frozenset()  # its rows that are answered, if it is not finished
        self.failed = self.unreadable = 0

    @classmethod
    def begin(cls, job: Job, form: Format, shard_rows: int) -> Shards:
        """Start or continue the output of a job. Raises InputError if the folder has answers of another run."""
        assert job.out is not None
        new = Manifest(form, shard_rows, hashlib.sha256(job.state).hexdigest(), msgspec.Raw(job.state))
        shards = cls(job.out, new, retry=job.retry)
        stored = shards._stored()
        if stored is not None and job.force:
            for shard in stored.shards.values():
                shards._remove(shard.name)
        elif stored is not None:
            if not job.resume:
                raise InputError(
                    f"{job.out} already has answers.", hint=f"Use `--resume` to continue the run. {_FORCE}"
                )
            job.check_continues(bytes(stored.state))
            for name in ("format", "shard_rows"):
                if (was := getattr(stored, name)) != (now := getattr(new, name)):
                    raise InputError(
                        f"{job.out} cannot be continued: `{name}` was {was} and is {now}.",
                        hint=f"Use the same options as before. {_FORCE}",
                    )
            new.shards = stored.shards
        shards._save()
        return shards

    def has(self, number: int, row: bytes) -> bool:
        """Whether an earlier run answered the row. With `retry`, a failed row is not answered."""
        if (shard := self._shard_of(number)) != self._reading:
            self._end_reading()
            self._begin_reading(shard)
        if self._is_finished or number in self._kept:
            return True
        self._missing[shard] += 1
        return False

    def write(self, lines: Sequence[bytes]) -> None:
        """Add lines. Write each shard that is whole."""
        for line in lines:
            fields = _decode(line)
            shard = self._shard_of(fields.row)
            self._lines[shard].append((fields, line))
            self._missing[shard] -= 1
            if shard != self._reading:
                self._finish_if_whole(shard)

    def finish(self) -> None:
        """Write the last shard."""
        self._end_reading()

    def _shard_of(self, number: int) -> int:
        return (number - 1) // self._manifest.shard_rows

    def _begin_reading(self, shard: int) -> None:
        self._reading, self._kept = shard, frozenset()
        finished = self._manifest.shards.get(shard)
        self._is_finished = finished is not None and not (self._retry and finished.failed)
        if finished is not None and self._is_finished:
            self.failed += finished.failed
            self.unreadable += finished.unreadable
            return
        lines = self._read(finished) if finished is not None else []
        self._lines[shard] = [(fields, line) for line in lines if (fields := _decode(line)).error is None]
        self._missing[shard] = 0
        self._kept = frozenset(fields.row for fields, _ in self._lines[shard])

    def _end_reading(self) -> None:
        shard, self._reading = self._reading, -1
        if shard in self._missing:
            self._finish_if_whole(shard)

    def _finish_if_whole(self, shard: int) -> None:
        if not self._missing[shard]:
            del self._missing[shard]
            self._finish(shard, self._lines.pop(shard))

    def _finish(self, shard: int, lines: list[_Line]) -> None:
        written = sorted(lines, key=lambda pair: pair[0].row)
        form = self._manifest.format
        content = b"".join(line for _, line in written) if form == "jsonl" else _parquet(written)
        errors = [fields.error for fields, _ in written if fields.error is not None]
        name = f"part-{shard:06}.{form}"
        self._write(name, content)
        self._manifest.shards[shard] = Shard(
            name,
            len(written),
            len(errors),
            sum(error.get("type") == InputError.__name__ for error in errors),
            hashlib.sha256(content).hexdigest(),
        )
        self._save()

    def _stored(self) -> Manifest | None:
        try:
            content = self._fs.cat_file(f"{self._folder}/{_MANIFEST}")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"Cannot read {self._folder}/{_MANIFEST}: {error.strerror or error}.") from error
        try:
            return msgspec.json.decode(content, type=Manifest)
        except msgspec.DecodeError as error:
            raise InputError(f"{self._folder}/{_MANIFEST} is damaged: {error}.", hint=_FORCE) from error

    def _save(self) -> None:
        self._manifest.shards = dict(sorted(self._manifest.shards.items()))  # they finish in any order
        self._write(_MANIFEST, msgspec.json.format(msgspec.json.encode(self._manifest), indent=1))

    def _read(self, shard: Shard) -> list[bytes]:
        content = self._fs.cat_file(f"{self._folder}/{shard.name}")
        if hashlib.sha256(content).hexdigest() != shard.sha256:
            raise InputError(f"{self._folder}/{shard.name} was changed since it was written.", hint=_FORCE)
        if self._manifest.format == "jsonl":
            return bytes(content).splitlines(keepends=True)
        import io

        import pyarrow.parquet

        lines = pyarrow.parquet.read_table(io.BytesIO(content), columns=["line"])["line"].to_pylist()
        return [line.encode() + b"\n" for line in lines]

    def _write(self, name: str, content: bytes) -> None:
        """Write a file so that it appears whole. An object store does that by itself."""
        path = f"{self._folder}/{name}"
        try:
            if "file" not in self._fs.protocol:
                self._fs.pipe_file(path, content)
                return
            Path(self._folder).mkdir(parents=True, exist_ok=True)
            with atomic_write(Path(path)) as file:
                file.write(content)
        except OSError as error:
            raise RqaError(
                f"Cannot write {path}: {error.strerror or error}.",
                hint="The shards written so far are complete. Continue with --resume.",
            ) from error

    def _remove(self, name: str) -> None:
        with suppress(FileNotFoundError):
            self._fs.rm_file(f"{self._folder}/{name}")


def is_folder(out: str) -> bool:
    """Return whether an output gets shards: a URL, a folder, or a name that ends in a slash."""
    return "://" in out or out.endswith("/") or Path(out).is_dir()


@contextmanager
def opened(job: Job, form: Format, shard_rows: int) -> Iterator[Shards]:
    """Open the shards of a job. Raises InputError if they are of another run, BusyError if they are in use."""
    assert job.out is not None
    with _locked(job.out):
        yield Shards.begin(job, form, shard_rows)


@contextmanager
def _locked(out: str) -> Iterator[None]:
    """Lock a local folder. An object store has no locks."""
    from filelock import FileLock, Timeout

    if "://" in out:
        yield
        return
    Path(out).mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(Path(out, ".lock"), timeout=0):
            yield
    except Timeout as error:
        raise BusyError(f"Another process is writing {out}.", hint="Wait for it, or choose another folder.") from error


def _parquet(written: Sequence[_Line]) -> bytes:
    """Return a Parquet file: the main fields as columns of fixed types, and each whole line as JSON."""
    import io

    import pyarrow
    import pyarrow.parquet

    text = pyarrow.string()
    columns = {
        "row": ([fields.row for fields, _ in written], pyarrow.int64()),
        "id": ([None if fields.id is None else str(fields.id) for fields, _ in written], text),
        "question": ([fields.question for fields, _ in written], text),
        "answer": ([fields.answer for fields, _ in written], text),
        "abstained": ([fields.abstained for fields, _ in written], pyarrow.bool_()),
        "confidence": ([fields.confidence for fields, _ in written], pyarrow.float64()),
        "strategy": ([fields.strategy for fields, _ in written], text),
        "seconds": ([fields.seconds for fields, _ in written], pyarrow.float64()),
        "error": ([(fields.error or {}).get("type") for fields, _ in written], text),
        "line": ([line.decode().rstrip("\n") for _, line in written], text),
    }
    table = pyarrow.table({name: pyarrow.array(values, kind) for name, (values, kind) in columns.items()})
    file = io.BytesIO()
    pyarrow.parquet.write_table(table, file)
    return file.getvalue()
