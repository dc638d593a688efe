"""Which files there are at and under the paths that were given."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .formats import READERS

MARKER = "rqa-index.json"  # in a folder: it holds an index, and nothing to read
Skipped = list[tuple[str, str]]  # (path, why)

_ONLY = f"only these are read: {' '.join(READERS)}"
_SUFFIX = re.compile(r"\.\w{1,10}")  # what else follows a full stop is part of a name
_KINDS = 5  # of files in a folder that are left out, which are told
_ABSENT = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}  # there is no such file; any other error may pass


@dataclass
class Found:
    """What there is at and under the paths that were given."""

    files: dict[Path, None] = field(default_factory=dict)  # to read, each once, in a fixed order
    skipped: Skipped = field(default_factory=list)
    closed: set[Path] = field(default_factory=set)  # places that cannot be looked at: nobody knows what is there

    def close(self, path: Path, error: OSError) -> None:
        """Skip a file or folder that cannot be looked at."""
        self.closed |= places([path])
        self.skipped.append((shown(path), f"it does not open: {error.strerror}"))


def find(given: Iterable[Path]) -> Found:
    """The files to read.

    In folders: those with a suffix we read, links followed and each folder entered once; nothing hidden, and
    no index of ours. Skipped are folders that do not open, and what is not for us: in folders by its kinds.
    """
    found = Found()
    for path in given:
        kind = _kind(path, found)
        if kind is not None and stat.S_ISDIR(kind):
            found.files.update(dict.fromkeys(map(identity, _walk(real(path), found))))
        elif kind is None:
            continue
        elif not stat.S_ISREG(kind):
            found.skipped.append((shown(path), "it is neither a file nor a folder"))
        elif path.suffix.lower() not in READERS:
            as_text = "" if path.suffix else "; a copy or a link that ends in .txt is read as text"
            found.skipped.append((shown(path), _ONLY + as_text))
        else:
            found.files[identity(path)] = None
    return found


def real(path: Path) -> Path:
    """`path` with its links followed, as far as there is anything."""
    return Path(os.path.realpath(path))  # Path.resolve raises on a link to itself


def identity(path: Path) -> Path:
    """The one name of a file, by whatever links it is reached.

    A link keeps its own name where that alone says how the file is read, as links into a store of blobs do.
    """
    target = real(path)
    return target if target.suffix.lower() in READERS else real(path.parent) / path.name


def places(paths: Iterable[Path]) -> set[Path]:
    """Where what was indexed of `paths` stands, as it is shown: what they lead to, and links that keep their names."""
    return {Path(shown(place)) for path in paths for place in (real(path), identity(path))}


def _walk(top: Path, found: Found) -> Iterator[Path]:
    """The files in the folder `top`, which goes by its real name."""

    def stays(path: Path) -> bool:
        # Somebody else's folder may hold links to what was never meant to be read, or sent to a model.
        if not path.is_symlink() or real(path).is_relative_to(top):
            return True
        found.skipped.append((shown(path), "it is a link that leads out of the folder; name it to read it"))
        return False

    entered: set[tuple[int, int]] = set()
    others: Counter[str] = Counter()
    for name, folders, files in os.walk(top, followlinks=True, onerror=lambda e: found.close(Path(e.filename), e)):
        folder = Path(name)
        try:
            status = folder.stat()
        except OSError as error:
            found.close(folder, error)
            folders.clear()
            continue
        if MARKER in files or (status.st_dev, status.st_ino) in entered:
            folders.clear()
            continue
        entered.add((status.st_dev, status.st_ino))
        folders[:] = [name for name in sorted(folders) if not name.startswith(".") and stays(folder / name)]
        for path in (folder / name for name in sorted(files) if not name.startswith(".")):
            suffix = path.suffix.lower()
            if suffix not in READERS:
                others[suffix if _SUFFIX.fullmatch(suffix) else "none"] += 1
            elif stat.S_ISREG(_kind(path, found) or 0) and stays(path):
                yield path
    if others:
        kinds = [suffix for suffix, _ in others.most_common(_KINDS)]
        more = ["another"] if len(others) > _KINDS else []
        found.skipped.append((f"Each file in {shown(top)} with suffix {' or '.join(kinds + more)}", _ONLY))


def is_gone(path: Path) -> bool:
    """Whether nothing has that name any more; where we may not look, something may have it."""
    try:
        path.lstat()
    except OSError as error:
        return error.errno in _ABSENT
    return False


def shown(path: Path) -> str:
    """`path` as text; bytes of a name that are not UTF-8 are escaped."""
    return str(path).encode("utf-8", "backslashreplace").decode()


def _kind(path: Path, found: Found) -> int | None:
    """The mode of what `path` leads to; 0: there is nothing; None: that cannot be told, and it is skipped."""
    try:
        return path.stat().st_mode
    except OSError as error:
        if error.errno in _ABSENT:
            return 0
        found.close(path, error)
        return None
