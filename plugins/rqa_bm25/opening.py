"""Opening the files of an index that may be read and not written."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

_LOCK = ".tantivy-meta.lock"  # held while an index is opened, so that no writer takes its files away meanwhile
_META = "meta.json"


@contextmanager
def lockable(folder: Path) -> Iterator[Path]:
    """Where tantivy can open the index in `folder`: there, or for the time being in a folder of links to its files.

    tantivy opens its lock file for writing, which not everybody may who may read.
    """
    lock = folder / _LOCK
    if os.access(lock if lock.exists() else folder, os.W_OK):
        yield folder
        return
    with ExitStack() as stack:
        with suppress(OSError):  # without a lock file there is no writer, either
            fcntl.flock(stack.enter_context(lock.open("rb")), fcntl.LOCK_EX)
        links = Path(stack.enter_context(TemporaryDirectory(prefix="rqa-")))
        (links / _META).write_bytes((folder / _META).read_bytes())
        for file in folder.absolute().iterdir():
            if not file.name.startswith(".") and file.name != _META:
                (links / file.name).symlink_to(file)
        yield links
