"""Which files there are at and under the paths that were given."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from .documents import READERS
from .index import MARKER

Skipped = list[tuple[str, str]]  # (path, why)


def find(given: Iterable[Path], skipped: Skipped) -> list[Path]:
    """The files to read, each once, in a fixed order.

    In folders: those with a suffix we read, links followed and each folder entered once; nothing hidden, and
    no index of ours. To `skipped` go folders that do not open, and what was given by name and is not for us.
    """
    found: dict[Path, None] = {}
    for path in given:
        kind = _kind(path)
        if stat.S_ISDIR(kind):
            found.update(dict.fromkeys(map(identity, _walk(real(path), skipped))))
        elif not stat.S_ISREG(kind):
            skipped.append((shown(path), "it is neither a file nor a folder"))
        elif path.suffix.lower() not in READERS:
            skipped.append((shown(path), f"only these are read: {' '.join(READERS)}"))
        else:
            found[identity(path)] = None
    return list(found)


def real(path: Path) -> Path:
    """`path` with its links followed, as far as there is anything."""
    return Path(os.path.realpath(path))  # Path.resolve raises on a link to itself


def identity(path: Path) -> Path:
    """The one name of a file, by whatever links it is reached.

    A link keeps its own name where that alone says how the file is read, as links into a store of blobs do.
    """
    target = real(path)
    return target if target.suffix.lower() in READERS else real(path.parent) / path.name


def _walk(top: Path, skipped: Skipped) -> Iterator[Path]:
    """The files in the folder `top`, which goes by its real name."""

    def closed(error: OSError) -> None:
        skipped.append((shown(Path(error.filename)), f"it does not open: {error.strerror}"))

    def stays(path: Path) -> bool:
        # Somebody else's folder may hold links to what was never meant to be read, or sent to a model.
        if not path.is_symlink() or real(path).is_relative_to(top):
            return True
        skipped.append((shown(path), "it is a link that leads out of the folder; name it to read it"))
        return False

    entered: set[tuple[int, int] | None] = set()
    for name, folders, files in os.walk(top, followlinks=True, onerror=closed):
        folder = Path(name)
        status = _status(folder)
        identity = status and (status.st_dev, status.st_ino)
        if MARKER in files or identity in entered:
            folders.clear()
            continue
        entered.add(identity)
        folders[:] = [name for name in sorted(folders) if not name.startswith(".") and stays(folder / name)]
        for path in (folder / name for name in sorted(files) if not name.startswith(".")):
            if path.suffix.lower() in READERS and stat.S_ISREG(_kind(path)) and stays(path):
                yield path


def is_gone(path: Path) -> bool:
    """Whether there is certainly no such file any more; one that we may not look at is not gone."""
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False


def shown(path: Path) -> str:
    """`path` as text; bytes of a name that are not UTF-8 are escaped."""
    return str(path).encode("utf-8", "backslashreplace").decode()


def _kind(path: Path) -> int:
    status = _status(path)
    return status.st_mode if status else 0


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None
