"""Find out which files of a folder are left out: those that ignore files name, and what programs made."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_FILES = (".gitignore", ".ignore", ".rqaignore")  # the later ones win, as their last lines do
_MADE = frozenset("node_modules bower_components site-packages __pycache__ __pypackages__".split())
_MARKED = frozenset(("pyvenv.cfg", "CACHEDIR.TAG"))  # files in a folder that a program made
_BUILT = frozenset("build dist out target".split())  # beside one of _PROJECT
_PROJECT = frozenset(
    """package.json pyproject.toml setup.py Cargo.toml pom.xml build.gradle build.gradle.kts CMakeLists.txt
    Makefile""".split()
)
_LONGEST = 1_000_000  # characters of an ignore file
_STARS = 3  # in a part of a pattern; more could take very long to match


class Rules(msgspec.Struct, frozen=True):
    """Patterns as in .gitignore to leave out, and whether to read also what ignore files name and programs made."""

    exclude: tuple[str, ...] = ()
    no_ignore: bool = False

    @classmethod
    def of(cls, exclude: str, *, no_ignore: bool) -> Rules:
        """Return the rules for the option `exclude` of a retriever: patterns that commas separate."""
        return cls(tuple(filter(None, map(str.strip, exclude.split(",")))), no_ignore)


@dataclass(frozen=True, slots=True)
class Scope:
    """The ignore files that hold in a folder: where the paths that each looks at begin, and its patterns."""

    specs: tuple[tuple[int, GitIgnoreSpec], ...] = ()  # that of the folder itself is first
    is_project: bool = False

    def names(self, path: str) -> bool:
        """Return whether an ignore file names a path, which ends in a slash if it is a folder."""
        for begin, spec in self.specs:
            if (named := spec.check_file(path[begin:]).include) is not None:
                return named
        return False


@dataclass
class Ignored:
    """What is left out below a folder, by its rules."""

    top: str
    rules: Rules
    left_out: list[str] = field(
        default_factory=list
    )  # by an ignore file or as made by a program; folders end in a slash

    @cached_property
    def _excluded(self) -> GitIgnoreSpec | None:
        return _spec(self.rules.exclude)

    def scope(self) -> Scope:
        """Return what holds above the folder: the ignore files of its repository that do not name it itself."""
        scope, above = Scope(), [Path(self.top), *Path(self.top).parents]
        root = next((n for n, path in enumerate(above) if (path / ".git").exists()), 0)
        for path in reversed(above[1 : root + 1]):
            inner = self.within(scope, str(path), {name for name in _FILES if (path / name).is_file()})
            scope = scope if inner.names(f"{self.top}/") else inner
        return scope

    def within(self, scope: Scope, folder: str, names: Collection[str]) -> Scope:
        """Return what holds in a folder with these names of files, below what holds above it."""
        if self.rules.no_ignore:
            return scope
        lines = [line for name in _FILES if name in names for line in _lines(Path(folder, name))]
        own = ((len(folder) + 1, spec),) if (spec := _spec(lines)) else ()
        return Scope((*own, *scope.specs), not _PROJECT.isdisjoint(names))

    def leaves_out(self, path: str, scope: Scope, *, is_folder: bool) -> bool:
        """Return whether a file or folder is left out. `scope` is that of the folder that it is in."""
        shown = f"{path}/" if is_folder else path
        if self._excluded and self._excluded.match_file(shown[len(self.top) + 1 :]):
            return True
        if self.rules.no_ignore or not (scope.names(shown) or (is_folder and _is_made(path, scope))):
            return False
        self.left_out.append(shown)
        return True

    def told(self) -> str:
        """Return what was left out in one sentence, "" if nothing was."""
        folders = sum(path.endswith("/") for path in self.left_out)
        counts = [(len(self.left_out) - folders, "file"), (folders, "folder")]
        counted = " and ".join(f"{count:,} {name}{'s' * (count > 1)}" for count, name in counts if count)
        why = "that ignore files name or a program made"
        first = min(self.left_out, default="")[len(self.top) + 1 :]
        return f"read without {counted} {why}, such as {first}; --no-ignore reads them" if counted else ""


def _is_made(path: str, scope: Scope) -> bool:
    name = path.rpartition("/")[2]
    return name in _MADE or (scope.is_project and name in _BUILT) or any(Path(path, each).exists() for each in _MARKED)


def _lines(path: Path) -> Iterable[str]:
    with suppress(OSError), path.open(encoding="utf-8", errors="surrogateescape") as file:
        return file.read(_LONGEST).splitlines()
    return ()


def _spec(lines: Iterable[str]) -> GitIgnoreSpec | None:
    kept = [line for line in lines if line.strip() and not line.startswith("#")]
    kept = [line for line in kept if max(part.count("*") for part in line.split("/")) <= _STARS >= line.count("**")]
    if not kept:
        return None
    from pathspec import GitIgnoreSpec  # here, because few folders need it

    with suppress(ValueError):
        return GitIgnoreSpec.from_lines(kept)
    return None
