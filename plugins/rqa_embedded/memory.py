"""The engine with a memory: what was judged is read next, and an ensemble reads the same passages many times."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Lock

from .engine import Engine, Marks

_KEPT = 2048  # windows, of about 2 KB each


class RememberingEngine(Engine):
    """An engine that keeps the marks of the windows it read last, and reads none twice in a batch."""

    def __init__(self, folder: Path | None = None, threads: int = 0) -> None:
        super().__init__(folder, threads)
        self._kept: dict[tuple[bytes, int], Marks] = {}
        self._lock = Lock()

    def mark(self, windows: Sequence[tuple[list[int], list[int]]]) -> list[Marks]:
        """The marks of `windows`, in order; see Engine.mark."""
        np = self._np
        keys = [(np.array(ids, np.int32).tobytes(), sum(types)) for ids, types in windows]
        with self._lock:
            known = {key: self._kept[key] for key in keys if key in self._kept}
        new = {key: window for key, window in zip(keys, windows, strict=True) if key not in known}
        found = dict(zip(new, super().mark([*new.values()]), strict=True))
        with self._lock:
            self._kept |= found
            while len(self._kept) > _KEPT:
                del self._kept[next(iter(self._kept))]
        known |= found
        return [known[key] for key in keys]
