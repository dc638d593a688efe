"""Files that are whole or not there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import BusyError

_WAIT = 30.0  # seconds for other processes that change the same file


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of `path`: read the file, change it and replace it inside.

    Raises BusyError when another process keeps the lock.
    """
    import filelock  # here, because only commands that write a file need it

    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # A file of its own: `path` is replaced, and a lock on it would be replaced with it.
    lock = filelock.FileLock(path.with_name(f".{path.name}.lock"), timeout=_WAIT, mode=0o600)
    try:
        lock.acquire()
    except filelock.Timeout as error:
        raise BusyError(
            f"Another process has kept {path} locked for {_WAIT:g} s.",
            hint="Run the command again when that process has ended.",
        ) from error
    try:
        yield
    finally:
        lock.release()


def write_private(path: Path, text: str) -> None:
    """Replace `path` by `text` in one step, readable by its owner alone from the first byte on."""
    import tempfile

    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # mkstemp makes 0600
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).replace(path)
    except BaseException as error:  # also when interrupted: no draft with a secret stays behind
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(path)  # a full disk names no file, and the draft means nothing to the user
        raise
