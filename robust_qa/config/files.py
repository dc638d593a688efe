"""Lock and replace files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import BusyError

_WAIT = 30.0  # seconds to wait for the lock


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of `path` while you read and replace the file.

    Raises BusyError if another process keeps the lock.
    """
    import filelock  # slow to import, and needed only to write files

    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # A separate lock file, because `path` itself is replaced.
    lock = filelock.FileLock(path.with_name(f".{path.name}.lock"), timeout=_WAIT, mode=0o600)
    try:
        lock.acquire()
    except filelock.Timeout as error:
        raise BusyError(
            f"Another process has locked {path} for more than {_WAIT:g} s.",
            hint="Wait for that process to end, then run the command again.",
        ) from error
    try:
        yield
    finally:
        lock.release()


def write_private(path: Path, text: str) -> None:
    """Replace `path` atomically by a file with `text` that only its owner can read."""
    import tempfile

    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # mkstemp makes 0600
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).replace(path)
    except BaseException as error:  # also Ctrl-C: the temporary file may hold a secret
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(path)  # name the user's file, not the temporary one
        raise
