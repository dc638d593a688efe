"""Find the files to read in the given files and folders."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field
from pathlib import Path

from .formats import NOT_TEXT, has_known_suffix, is_readable

MARKER = "rqa-index.json"  # marks the folder of an index, which is not read
Skipped = list[tuple[str, str]]  # (path, reason)

_SUFFIX = re.compile(r"\.\w{1,10}")
_ESCAPED = re.compile(r"\\u(dc[89a-f][0-9a-f])")  # a byte that is not UTF-8
_KINDS = 5  # suffixes of skipped files to report per folder
ABSENT = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}  # the file does not exist; other errors may be temporary


@dataclass
class Found:
    """The result of `find`."""

    files: dict[Path, None] = field(default_factory=dict)  # files to read, deduplicated, in a fixed order
    skipped: Skipped = field(default_factory=list)
    closed: set[Path] = field(default_factory=set)  # files and folders that cannot be opened

    def close(self, path: Path, error: OSError) -> None:
        """Skip a file or folder that cannot be opened."""
        self.closed |= places([path])
        self.skipped.append((shown(path), f"it does not open: {error.strerror}"))

    def report_kept(self, indexed: Iterable[str]) -> None:
        """Add to `skipped` how many of the indexed files cannot be opened, so that their passages stay."""
        if kept := sum(is_under(file, self.closed) for file in indexed):
            files = "1 indexed file" if kept == 1 else f"{kept:,} indexed files"
            why = "not to be opened now, so the old passages stay in the index and still answer"
            self.skipped.append((files, why))


def find(given: Iterable[Path]) -> Found:
    """Return the files to read.

    In folders these are the files of a supported format and all other text files, except hidden files and indexes of
    rqa. Follows links that stay inside the folder, and enters each folder once.
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
        elif (readable := _is_readable(path, found)) is False:
            found.skipped.append((shown(path), NOT_TEXT))
        elif readable:
            found.files[identity(path)] = None
    for path in [path for path in found.files if _is_link(path)]:  # a file with a better name is read once
        found.files.pop(real(path), None)
    return found


def is_skipped(path: Path, top: Path) -> bool:
    """Return whether `find` on the folder `top` skips `path` because it is hidden or in an index. Both are resolved."""
    below = path.relative_to(top).parts
    folders = [top.joinpath(*below[:depth]) for depth in range(len(below) + 1)]
    return any(part.startswith(".") for part in below) or any((folder / MARKER).exists() for folder in folders)


def real(path: Path) -> Path:
    """Return `path` with its links resolved."""
    return Path(os.path.realpath(path))  # Path.resolve raises on a link to itself


def identity(path: Path) -> Path:
    """Return one path for a file, whichever links lead to it.

    A link keeps its own name if only that name has a supported suffix, as with links into a blob store.
    """
    target = real(path)
    return real(path.parent) / path.name if has_known_suffix(path) and not has_known_suffix(target) else target


def places(paths: Iterable[Path]) -> set[Path]:
    """Return the paths under which the files at `paths` are indexed."""
    return {Path(shown(place)) for path in paths for place in (real(path), identity(path))}


def _walk(top: Path, found: Found) -> Iterator[Path]:
    """Return the files in the folder `top`, a resolved path."""

    def stays(path: Path) -> bool:
        # An untrusted folder may contain links to private files, which must not go to a model.
        if not _is_link(path) or real(path).is_relative_to(top):
            return True
        found.skipped.append((shown(path), "it links to a file outside the folder; to read it, name it"))
        return False

    entered: set[tuple[int, int]] = set()
    others: Counter[str] = Counter()
    pending = [top]  # not os.walk, which recurses and cannot enter a folder that is nested 1,000 deep
    while pending:
        folder = pending.pop()
        try:
            status = folder.stat()
            with os.scandir(folder) as entries:
                names = sorted(entry.name for entry in entries)
        except OSError as error:
            found.close(folder, error)
            continue
        if MARKER in names or (status.st_dev, status.st_ino) in entered:
            continue
        entered.add((status.st_dev, status.st_ino))
        folders: list[Path] = []
        for path in (folder / name for name in names if not name.startswith(".")):
            kind = _kind(path, found) or 0
            if not (stat.S_ISDIR(kind) or stat.S_ISREG(kind)) or not stays(path):
                continue
            if stat.S_ISDIR(kind):
                folders.append(path)
            elif readable := _is_readable(path, found):
                yield path
            elif readable is False:
                suffix = path.suffix.lower()
                others[suffix if _SUFFIX.fullmatch(suffix) else "none"] += 1
        pending += reversed(folders)
    if others:
        kinds = [suffix for suffix, _ in others.most_common(_KINDS)]
        more = ["another"] if len(others) > _KINDS else []
        found.skipped.append((f"files in {shown(top)} with suffix {' or '.join(kinds + more)}", NOT_TEXT))


def _is_link(path: Path) -> bool:
    return os.path.islink(path)  # noqa: PTH114  (Path.is_symlink raises if the name is too long)


def _is_readable(path: Path, found: Found) -> bool | None:
    """Return whether the file is of a format or text, None if it cannot be opened."""
    try:
        return is_readable(path)
    except OSError as error:
        found.close(path, error)
        return None


def is_gone(path: Path) -> bool:
    """Return whether the file does not exist. False if that cannot be determined."""
    try:
        path.lstat()
    except OSError as error:
        return error.errno in ABSENT
    return False


def shown(path: Path) -> str:
    """Return `path` as text, with bytes that are not UTF-8 escaped."""
    return str(path).encode("utf-8", "backslashreplace").decode()


def is_under(file: str, named: Set[Path]) -> bool:
    """Return whether an indexed file is one of `named` or in one of them."""
    path = Path(file)
    return path in named or not named.isdisjoint(path.parents)


def located(file: str) -> Path:
    """Return the path that `shown` turned into `file`."""
    return Path(_ESCAPED.sub(lambda escape: chr(int(escape[1], 16)), file))


def _kind(path: Path, found: Found) -> int | None:
    """Return the mode of the file, 0 if it does not exist, None if it cannot be opened."""
    try:
        return path.stat().st_mode
    except OSError as error:
        if error.errno in ABSENT:
            return 0
        found.close(path, error)
        return None
