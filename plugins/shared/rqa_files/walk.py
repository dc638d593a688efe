"""Find the files to read in the given files and folders."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path

from .detection import NOT_TEXT, is_readable
from .document import Formats
from .ignoring import Ignored, Rules

MARKER = "rqa-index.json"  # marks the folder of an index, which is not read
Skipped = list[tuple[str, str]]  # (path, reason)
State = tuple[int, int, int]
"""Size, time of the last change, and time of the last change of content, name or rights. The times are in ns."""

_ESCAPED = re.compile(r"\\u(dc[89a-f][0-9a-f])")  # a byte that is not UTF-8
ABSENT = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}  # the file does not exist; other errors may be temporary


@dataclass
class Found:
    """The result of `find`."""

    files: dict[Path, State] = field(default_factory=dict)  # files to read, deduplicated, in a fixed order
    skipped: Skipped = field(default_factory=list)
    closed: set[Path] = field(default_factory=set)  # files and folders that cannot be opened
    unchanged: dict[str, None] = field(default_factory=dict)  # files with a known state
    not_text: dict[str, State] = field(default_factory=dict)  # other files of no known format, also in `skipped`

    def close(self, path: Path, error: OSError) -> None:
        """Skip a file or folder that cannot be opened."""
        self.closed |= places([path])
        self.skipped.append((shown(path), f"it cannot be opened: {error.strerror}"))

    def report_kept(self, indexed: Iterable[str]) -> None:
        """Add to `skipped` how many of the indexed files cannot be opened, so that their passages stay."""
        if kept := self.closed and sum(is_under(file, self.closed) for file in indexed):
            files = "1 indexed file" if kept == 1 else f"{kept:,} indexed files"
            why = "not to be opened now, so the old passages stay in the index and still answer"
            self.skipped.append((files, why))


def find(
    given: Iterable[Path],
    known: Mapping[str, State] | None = None,
    without: Collection[str] = (),
    *,
    formats: Formats,
    rules: Rules = Rules(),  # noqa: B008 - it is frozen
    keep: bool = False,
) -> Found:
    """Return the files to read.

    In folders these are the files of one of `formats` and all other text files, except hidden files and indexes of
    rqa, and of `without`, and what `rules` leave out. A link counts as what it leads to, which is read under that
    name. Does not open files whose state is the one in `known`, and with `keep` looks for no rule that names them.
    """
    found = Found()
    known = known or {}
    for path in given:
        try:
            status = path.stat()
        except OSError as error:
            if error.errno not in ABSENT:
                found.close(path, error)
                continue
            status = None
        if status and stat.S_ISDIR(status.st_mode):
            files = _walk(os.path.realpath(path), found, without, rules, known if keep else {})
        elif status and stat.S_ISREG(status.st_mode):
            files = iter([(os.path.realpath(path), state_of(status))])
        else:
            found.skipped.append((shown(path), "it is neither a file nor a folder"))
            continue
        for file, state in files:
            name = shown(file)
            if known.get(name) == state:
                found.unchanged[name] = None
            else:
                _add(Path(file), name, state, found, formats)
    return found


def state_of(status: os.stat_result) -> State:
    """Return the state of a file. Its content almost certainly stays while the state does."""
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _add(path: Path, name: str, state: State, found: Found, formats: Formats) -> None:
    try:
        readable = is_readable(path, formats)
    except OSError as error:
        found.close(path, error)
        return
    if readable:
        found.files[path] = state
    else:
        found.not_text[name] = state
        found.skipped.append((name, NOT_TEXT))


def is_skipped(path: Path, top: Path) -> bool:
    """Return whether `find` on the folder `top` skips `path` because it is hidden or in an index. Both are resolved."""
    below = path.relative_to(top).parts
    folders = [top.joinpath(*below[:depth]) for depth in range(len(below) + 1)]
    return any(part.startswith(".") for part in below) or any((folder / MARKER).exists() for folder in folders)


def real(path: Path) -> Path:
    """Return `path` with its links resolved."""
    return Path(os.path.realpath(path))  # Path.resolve raises on a link to itself


def places(paths: Iterable[Path]) -> set[Path]:
    """Return the paths under which the files at `paths` are indexed."""
    return {Path(shown(real(path))) for path in paths}


def _walk(  # noqa: PLR0912
    top: str, found: Found, without: Collection[str], rules: Rules, kept: Collection[str]
) -> Iterator[tuple[str, State]]:
    """Yield the files in the folder `top`, a resolved path, with their states.

    A link leads to a file that is found anyway, so it is left out.
    Works with strings, because a scan of many files is to be fast.
    """
    ignored = Ignored(top, rules)
    pending = [(top, ignored.scope())]
    while pending:
        folder, scope = pending.pop()
        try:
            with os.scandir(folder) as entries:
                by_name = {entry.name: entry for entry in entries}
        except OSError as error:
            found.close(Path(folder), error)
            continue
        if MARKER in by_name:
            continue
        scope = ignored.within(scope, folder, by_name)
        folders: list[str] = []
        for name in sorted(name for name in by_name if not name.startswith(".")):
            path, is_link = by_name[name].path, by_name[name].is_symlink()
            if path in without:
                continue
            try:
                status = os.stat(path)  # noqa: PTH116
            except OSError as error:
                if error.errno not in ABSENT:
                    found.close(Path(path), error)
                continue
            is_folder, is_file = stat.S_ISDIR(status.st_mode), stat.S_ISREG(status.st_mode)
            if is_link and (is_folder or is_file):
                # An untrusted folder may contain links to private files, which must not go to a model.
                if private := _private(real(Path(path)), Path(top)):
                    found.skipped.append((shown(path), f"it links to {private}; to read it, name it"))
            elif (is_folder or (is_file and path not in kept)) and ignored.leaves_out(path, scope, is_folder=is_folder):
                continue
            elif is_folder:
                folders.append(path)
            elif is_file:
                yield path, state_of(status)
        pending += [(each, scope) for each in reversed(folders)]
    if told := ignored.told():
        found.skipped.append((shown(top), told))


def _private(target: Path, top: Path) -> str:
    """Return why a link to `target` is not followed in the folder `top`, "" if it is. Both are resolved."""
    if not target.is_relative_to(top):
        return "a file outside the folder"
    return "a hidden file or an index" if is_skipped(target, top) else ""


def is_gone(path: Path) -> bool:
    """Return whether the file does not exist. False if that cannot be determined."""
    try:
        path.lstat()
    except OSError as error:
        return error.errno in ABSENT
    return False


def shown(path: Path | str) -> str:
    """Return `path` as text, with bytes that are not UTF-8 escaped."""
    return str(path).encode("utf-8", "backslashreplace").decode()


def is_under(file: str, named: Set[Path]) -> bool:
    """Return whether an indexed file is one of `named` or in one of them."""
    path = Path(file)
    return path in named or not named.isdisjoint(path.parents)


def located(file: str) -> Path:
    """Return the path that `shown` turned into `file`."""
    return Path(_ESCAPED.sub(lambda escape: chr(int(escape[1], 16)), file))


def unmoved(file: str) -> Path | None:
    """Return the path of an indexed file. None if it is gone or became a link, which may lead anywhere."""
    path = located(file)
    return path if real(path) == path and path.is_file() else None
