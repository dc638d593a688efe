"""Random access to the lines of a file of a run."""

from __future__ import annotations

from array import array
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import msgspec

from robust_qa import InputError

_T = TypeVar("_T")
_HINT = "If the run was interrupted, continue it with `rqa eval ... --resume`."


class _Numbered(msgspec.Struct, frozen=True):
    row: int


class Lines:
    """The lines of a file by row: the line number, or the field `row` if the lines are `numbered`."""

    def __init__(self, path: Path, *, numbered: bool = False) -> None:
        self._path = path
        try:
            self._file = path.open("rb")
        except FileNotFoundError as error:
            raise InputError(f"{path.parent} has no {path.name}: the run is incomplete.", hint=_HINT) from error
        self._offsets = array("q", [-1])
        try:
            self._index(numbered)
        except BaseException:  # also when interrupted
            self._file.close()
            raise

    def _index(self, numbered: bool) -> None:
        offset = 0
        for count, line in enumerate(self._file, start=1):
            row = self._decode(line, _Numbered, f"line {count}").row if numbered else count
            if row >= len(self._offsets):
                self._offsets.extend([-1] * (row + 1 - len(self._offsets)))
            self._offsets[row] = offset
            offset += len(line)

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def get(self, row: int, kind: type[_T]) -> _T | None:
        if row >= len(self._offsets) or self._offsets[row] < 0:
            return None
        self._file.seek(self._offsets[row])
        return self._decode(self._file.readline(), kind, f"row {row}")

    def _decode(self, line: bytes, kind: type[_T], where: str) -> _T:
        try:
            return msgspec.json.decode(line, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InputError(f"{self._path}, {where}: {error}", hint=_HINT) from error
