"""rqa's own standard output, kept apart from file descriptor 1, where anything in the process can write."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress

STDOUT, STDERR = 1, 2

_own = STDOUT


def make_private() -> int:
    """A duplicate of the original standard output, for this process alone: child processes do not inherit it."""
    global _own  # noqa: PLW0603  (there is one standard output)
    if _own == STDOUT:
        _own = os.dup(STDOUT)
    return _own


def descriptor() -> int:
    """The file descriptor of the original standard output."""
    return _own


@contextmanager
def plugins_write_to_stderr() -> Iterator[None]:
    """Send to stderr what plugins, C libraries and child processes print or write to file descriptor 1.

    In the `rqa` command this lasts until the process ends, as threads and C buffers may write late.
    """
    global _own  # noqa: PLW0603
    private = _own != STDOUT
    own = make_private()
    os.dup2(STDERR, STDOUT)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        if not private:  # a program that uses rqa gets its own standard output back
            flush_c()
            os.dup2(own, STDOUT)
            os.close(own)
            _own = STDOUT


def flush_c() -> None:
    """Write what C code holds in its buffers."""
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).fflush(None)
