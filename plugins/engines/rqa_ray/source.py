"""Input rows: JSON lines, tables or Parquet, from a path or an fsspec URL.

Rows are read here and not by Ray Data, which parses JSON into typed columns. rqa copies the fields of a row byte for
byte and numbers the lines, also the blank ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from robust_qa import InputError, MissingError
from rqa_rows import input_rows, read_lines

_PARQUET = ".parquet"
_SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".txt", ".csv", ".tsv", _PARQUET)
_BATCH = 256  # rows of a Parquet file in memory


class Rows:
    """The rows of `source`: a file, or all files of a folder or of a pattern with `*`, by name.

    `column`: the field with the question, "" to recognise it.
    """

    def __init__(self, source: str, column: str = "") -> None:
        if source == "-":
            raise InputError("Engine 'ray' reads a file, a folder or a URL, not standard input.")
        self.source = source
        self._column = column
        with reading(source):
            self._fs, path = filesystem(source)
            self._files = self._find(path)
        if not self._files:
            raise InputError(
                f"{source} has no file whose name ends in {', '.join(_SUFFIXES)}.", hint="Name the input file itself."
            )

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Yield the number of the line where each row begins, from 1 over all files, and the row."""
        before = number = 0
        for path in self._files:
            lines = self._parquet(path) if path.endswith(_PARQUET) else self._lines(path)
            with reading(path):
                for at, row in input_rows(lines, path.removesuffix(".gz").removesuffix(".zst"), self._column):
                    number = before + at
                    yield number, row
            before = number

    def _find(self, path: str) -> list[str]:
        if "*" in path:
            return sorted(self._fs.glob(path))
        if not self._fs.isdir(path):
            return [path]
        return sorted(name for name in self._fs.ls(path, detail=False) if str(name).endswith(_SUFFIXES))

    def _lines(self, path: str) -> Iterator[bytes]:
        with self._fs.open(path, "rb", compression="infer") as file:
            yield from read_lines(file)

    def _parquet(self, path: str) -> Iterator[bytes]:
        import pyarrow
        import pyarrow.parquet

        with self._fs.open(path, "rb") as file:
            try:
                for batch in pyarrow.parquet.ParquetFile(file).iter_batches(batch_size=_BATCH):
                    yield from (msgspec.json.encode(row) for row in batch.to_pylist())
            except pyarrow.ArrowInvalid as error:
                raise InputError(f"{path} is not a Parquet file: {error}.") from error


def filesystem(url: str) -> tuple[Any, str]:
    """Return the fsspec file system of a path or URL, and the path in it. Raises MissingError without its package."""
    from fsspec.core import url_to_fs

    try:
        found: tuple[Any, str] = url_to_fs(url)
        return found
    except ImportError as error:
        raise MissingError(f"Cannot open {url}: {error}.", hint="Install that package beside rqa.") from error
    except ValueError as error:
        raise InputError(f"Cannot open {url}: {error}.") from error


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn errors of a file system into InputError."""
    try:
        yield
    except OSError as error:
        raise InputError(f"Cannot read {name}: {error.strerror or error}.") from error
