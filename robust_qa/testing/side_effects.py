"""Side effects of a component on its process: file descriptor 1, working directory, signal handlers."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from .suite import Finding

_STDOUT = 1
_LONGEST = 80  # bytes of the output to show


class SideEffects:
    """Context manager that records writes to file descriptor 1 and sends them to stderr at the end."""

    def __init__(self) -> None:
        self._writes: list[str] = []
        self._moves: list[str] = []
        self._replaced: list[str] = []

    def __enter__(self) -> SideEffects:
        self._file = tempfile.TemporaryFile()
        self._stdout = os.dup(_STDOUT)
        os.dup2(self._file.fileno(), _STDOUT)
        return self

    def __exit__(self, *_: object) -> None:
        os.dup2(self._stdout, _STDOUT)
        os.close(self._stdout)
        with self._file:
            self._file.seek(0)
            sys.stderr.write(self._file.read().decode(errors="replace"))

    @contextmanager
    def during(self, phase: str) -> Iterator[None]:
        """Record the side effects of the block; the findings name the `phase`."""
        start, folder, handlers = self._written(), _folder(), _handlers()
        try:
            yield
        finally:
            _flush_c()
            if self._written() > start:
                text = os.pread(self._file.fileno(), _LONGEST, start).decode(errors="replace")
                self._writes.append(f"{text!r} {phase}")
            if _folder() != folder:
                self._moves.append(f"to {_folder()} {phase}")
            changed = [getattr(n, "name", str(n)) for n, handler in _handlers().items() if handler != handlers[n]]
            if changed:
                self._replaced.append(f"{', '.join(changed)} {phase}")

    def findings(self) -> list[Finding]:
        """One finding for each kind of side effect."""
        return [
            _finding("it writes nothing to file descriptor 1", "it wrote ", self._writes),
            _finding("it keeps the working directory", "it changed ", self._moves),
            _finding("it keeps the signal handlers", "it replaced ", self._replaced),
        ]

    def _written(self) -> int:
        return os.fstat(self._file.fileno()).st_size


def _finding(name: str, did: str, found: list[str]) -> Finding:
    return Finding(name, "failed" if found else "passed", did + "; ".join(found) if found else "")


def _folder() -> str:
    try:
        return os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        return ""


def _handlers() -> dict[int, Any]:
    """The handler of each signal in Python and in the system. C code may replace only the latter."""
    return {number: (signal.getsignal(number), _system_handler(number)) for number in signal.valid_signals()}


def _system_handler(number: int) -> int | None:
    action = ctypes.create_string_buffer(1024)  # a struct sigaction; the handler comes first
    try:
        ctypes.CDLL(None).sigaction(int(number), None, action)
    except (OSError, AttributeError):
        return None
    return ctypes.c_void_p.from_buffer(action).value


def _flush_c() -> None:
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).fflush(None)
