"""Keep rqa's own standard output separate from file descriptor 1, to which plugins and C libraries may write."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress

STDOUT, STDERR = 1, 2

_own = STDOUT


def make_private() -> int:
    """Duplicate the original standard output. Return the new descriptor, which child processes do not inherit."""
    global _own  # noqa: PLW0603  (there is one standard output)
    if _own == STDOUT:
        _own = os.dup(STDOUT)
    return _own


def descriptor() -> int:
    """Return the file descriptor of the original standard output."""
    return _own


@contextmanager
def plugins_write_to_stderr() -> Iterator[None]:
    """Redirect file descriptor 1 to stderr: prints of plugins, C libraries and child processes.

    In the `rqa` command this lasts until the process ends, because threads and C buffers may write late.
    """
    global _own  # noqa: PLW0603
    private = _own != STDOUT
    own = make_private()
    os.dup2(STDERR, STDOUT)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        if not private:  # a program that uses rqa as a library gets its stdout back
            flush_c()
            os.dup2(own, STDOUT)
            os.close(own)
            _own = STDOUT


def flush_c() -> None:
    """Flush C stdio buffers."""
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).fflush(None)
