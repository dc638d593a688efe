"""Lock and replace files."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO

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


@contextmanager
def atomic_write(path: Path, mode: int | None = None) -> Iterator[BinaryIO]:
    """Yield a new file that replaces `path` at the end of the block. If the block raises, `path` stays as it is.

    Even after a power cut, `path` has all of the old content or all of the new. `mode` has the permissions of the new
    file; None keeps those of the old one. Hold a lock if other processes may write `path`. An OSError names `path`.
    """
    target = Path(os.path.realpath(path))
    draft = target.with_name(f".{target.name}.new")
    try:
        draft.unlink(missing_ok=True)  # left by a process that was killed
        with open(draft, "x+b", opener=partial(os.open, mode=mode or 0o666)) as file:
            if not mode and target.exists():
                os.fchmod(file.fileno(), stat.S_IMODE(target.stat().st_mode))
            yield file
        put_in_place(draft, target)
    except BaseException as error:  # also Ctrl-C: the draft may hold a secret
        with suppress(OSError):
            draft.unlink()
        if isinstance(error, OSError) and str(error.filename or draft) == str(draft):
            error.filename = str(path)  # name the user's file, not the draft
        raise


def put_in_place(draft: Path, path: Path) -> None:
    """Rename the file `draft` to `path`, in the same folder. Content and name are on disk when this returns."""
    with draft.open("rb") as file:
        os.fsync(file.fileno())
    draft.replace(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    with suppress(OSError):  # some network file systems cannot sync a folder
        os.fsync(folder)
    os.close(folder)
