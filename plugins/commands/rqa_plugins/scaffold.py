"""Create a working plugin project, for `rqa plugins new`."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import keyword
import re
import string
from pathlib import Path
from typing import get_args

from robust_qa import ConfigError, InputError
from robust_qa.answering import Kind
from robust_qa.kit import BUILT_IN
from robust_qa.version import __version__

KINDS: tuple[str, ...] = (*get_args(Kind), "command", "format")
_TEMPLATES = Path(__file__).parent / "templates" / "plugin"
_NAME = re.compile(r"[a-z](?:[a-z0-9_-]{0,38}[a-z0-9])?\Z")
# Path in the project: its template.
_COMMON = {
    "pyproject.toml": "pyproject.toml",
    "README.md": "README.md",
    ".gitignore": "gitignore",
    "rqa.toml": "{kind}.toml",
    "src/{package}/__init__.py": "{kind}.py",
    "src/{package}/py.typed": "py.typed",
    "tests/test_{package}.py": "test_{kind}.py",
}
_CORPUS = {"corpus/animals.txt": "retriever.corpus"}
_ONLY_FOR = {
    "retriever": _CORPUS,
    "command": _CORPUS,
    "engine": {**_CORPUS, "questions.txt": "engine.questions"},
    "format": {"corpus/animals.{name}": "format.corpus"},
}


def write_plugin(name: str, kind: str, folder: Path) -> list[Path]:
    """Create the plugin project `folder`/rqa-NAME and return its files in the order written.

    Never changes existing files. Raises ConfigError if the name is invalid, InputError if the project folder exists or
    cannot be written.
    """
    name = plugin_name(name, kind)
    fields = _fields(name, kind)
    root = folder / fields["project"]
    layout = {**_COMMON, **_ONLY_FOR.get(kind, {})}
    files = {
        root / path.format(**fields): _render(template.format(**fields), fields) for path, template in layout.items()
    }
    try:
        root.mkdir(parents=True)
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except FileExistsError as error:
        raise InputError(
            f"{error.filename} already exists.",
            hint="Choose another name or another folder.",
        ) from error
    except OSError as error:
        raise InputError(f"Cannot write the plugin project {root}: {error.strerror}.") from error
    return list(files)


def plugin_name(name: str, kind: str) -> str:
    """Return `name` as a component name: lower case, without spaces. The package name has `_` for `-`.

    Raises ConfigError with a suggestion if the name is invalid or already taken.
    """
    wanted = "-".join(name.lower().split())
    if not _NAME.match(wanted):
        raise ConfigError(
            f"{name!r} is not a valid plugin name. Use up to 40 of a-z, 0-9, - and _, starting with a letter.",
            hint=f"For example 'my-{kind}'.",
        )
    if owner := _owner(wanted):
        raise ConfigError(
            f"The plugin name {wanted!r} is already taken by {owner}.",
            hint=f"For example {f'{wanted}-{kind}'!r}.",
        )
    return wanted


def attempt(name: str, kind: str) -> str:
    """Return the command that checks the plugin, to run in the project's folder."""
    return f"rqa plugins check {name}" + (f" --file corpus/animals.{name}" if kind == "format" else "")


def _owner(name: str) -> str:
    """Return what already uses the name, or ""."""
    package = _package(name)
    if keyword.iskeyword(package):
        return "a keyword of Python"
    if name in BUILT_IN:
        return "retriever expressions"
    if any(_package(entry.name) == package for entry in importlib.metadata.entry_points(group="rqa")):
        return "an installed plugin"
    if importlib.util.find_spec(package):
        return "an installed Python module"
    return ""


def _package(name: str) -> str:
    return name.replace("-", "_")


def _fields(name: str, kind: str) -> dict[str, str]:
    stem = "".join(word.capitalize() for word in _package(name).split("_"))
    return {
        "name": name,
        "kind": kind,
        "class_name": stem.removesuffix(kind.capitalize()) + kind.capitalize(),
        "package": _package(name),
        "project": "rqa-" + name.replace("_", "-").removeprefix("rqa-").strip("-"),
        "version": __version__,
        "try": attempt(name, kind),
    }


def _render(template: str, fields: dict[str, str]) -> str:
    text = (_TEMPLATES / f"{template}.txt").read_text(encoding="utf-8")
    return string.Template(text).substitute(fields)
