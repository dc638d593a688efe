"""The vectors of an index's passages: one file of int8 records, appended to by one process and read by many.

    header     256 bytes: JSON with the embedder, the width, and the generation of the index that is complete here
    records    16 bytes key, 4 bytes scale (float32), `width` bytes vector (int8)

A key is a hash of a passage (`index.key_of`), so unchanged passages keep their vectors, and an interrupted run
continues where it stopped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence, Set
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robust_qa.kit import atomic_write

FILE = "vectors"
_HEADER = 256  # bytes
_BLOCK = 1 << 9  # records in one step of a scan, which fit into the cache of a core as floats

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Header:
    """What the file holds. `complete` is the generation of the index whose passages all have vectors."""

    embedder: str
    width: int
    complete: str = ""


class Vectors:
    """The vectors in `folder`, as they were when this object was made. There may be none."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self.header: Header | None = None
        self._records: NDArray[Any] = np.empty(0, _record(0))
        try:
            with self._path.open("rb") as file:
                self.header = Header(**json.loads(file.read(_HEADER)))
                count = (os.fstat(file.fileno()).st_size - _HEADER) // _record(self.header.width).itemsize
                if count:
                    self._records = np.memmap(file, _record(self.header.width), "r", _HEADER, (count,))
        except (FileNotFoundError, ValueError, TypeError):  # none, or damaged: they are computed again
            self.header = None

    def __len__(self) -> int:
        return len(self._records)

    def keys(self) -> set[bytes]:
        """Return the keys of all passages that have a vector."""
        return set(self._records["key"].tolist()) if len(self) else set()

    def keys_of(self, embedder: str) -> set[bytes]:
        """Return the keys of all passages that have a vector of `embedder`."""
        return self.keys() if self.header and self.header.embedder == embedder else set()

    def nearest(self, query: Floats, n: int, among: Set[bytes] | None = None) -> list[bytes]:
        """Return the keys of the `n` vectors with the highest cosine to `query`, a unit vector; best first.

        `among`: the keys that may be returned, None for all.
        """
        scores = np.empty(len(self), np.float32)
        for start in range(0, len(self), _BLOCK):
            block = self._records[start : start + _BLOCK]
            # Not `@`, whose threads wait for each other in every block.
            scores[start : start + _BLOCK] = np.vecdot(block["vector"].astype(np.float32), query) * block["scale"]
        places = np.arange(len(self))
        if among is not None:
            keys = self._records["key"].tolist()
            places = places[np.fromiter((key in among for key in keys), bool, len(keys))]
        if len(places) > n:
            places = places[np.argpartition(-scores[places], n - 1)[:n]]
        return [bytes(self._records["key"][place]) for place in places[np.lexsort((places, -scores[places]))]]

    # -- writing, by the process that holds the lock of the index

    def begin(self, embedder: str, width: int) -> None:
        """Prepare for vectors of `embedder`. Those of another embedder are removed."""
        if self.header is None or (self.header.embedder, self.header.width) != (embedder, width):
            self._replace(Header(embedder, width), self._records[:0])

    def append(self, keys: Sequence[bytes], vectors: Floats) -> None:
        """Write vectors to the end of the file, shape (len(keys), width)."""
        assert self.header is not None
        records = np.empty(len(keys), _record(self.header.width))
        largest = np.maximum(np.abs(vectors).max(axis=1), np.float32(1e-9))
        records["key"], records["scale"] = np.array(keys, "V16"), largest / 127
        records["vector"] = np.rint(vectors / largest[:, None] * 127)
        size = records.dtype.itemsize
        with self._path.open("r+b") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(end - (end - _HEADER) % size)  # overwrites the rest of an interrupted write
            file.write(records.tobytes())

    def finish(self, live: Set[bytes], generation: str) -> None:
        """Record that the passages of `generation` have their vectors. Drops the others if they are many."""
        written = Vectors(self._path.parent)
        assert written.header is not None
        records = written._records
        if shrink := len(written) > len(live) * 1.1:
            records = records[np.fromiter((key in live for key in records["key"].tolist()), bool, len(records))]
        header = replace(written.header, complete=generation)
        if shrink:
            self._replace(header, records)
        else:
            with self._path.open("r+b") as file:
                os.fsync(file.fileno())  # the records first, so that the header never names lost ones
                file.write(_encoded(header))

    def _replace(self, header: Header, records: NDArray[Any]) -> None:
        with atomic_write(self._path, 0o600) as file:
            file.write(_encoded(header))
            file.write(records.tobytes())
        self.header = header


def _record(width: int) -> np.dtype[Any]:
    return np.dtype([("key", "V16"), ("scale", "<f4"), ("vector", "i1", (width,))])


def _encoded(header: Header) -> bytes:
    return json.dumps(asdict(header)).encode().ljust(_HEADER)
