"""`rqa plugins new`: a plugin project, whole and working, to start one's own from."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import keyword
import re
import string
import textwrap
import unicodedata
from pathlib import Path

from .. import __version__
from ..errors import ConfigError, InputError, did_you_mean
from ..expressions import BUILT_IN
from ..types import KINDS
from .loading import GROUP

_TEMPLATES = Path(__file__).parent / "templates" / "plugin"
_NAME = re.compile(r"[a-z](?:[a-z0-9_-]{0,38}[a-z0-9])?\Z")
# Path in the project, and the template it is made from.
_COMMON = {
    "pyproject.toml": "pyproject.toml",
    "README.md": "README.md",
    ".gitignore": "gitignore",
    "rqa.toml": "{kind}.toml",
    "src/{package}/__init__.py": "{kind}.py",
    "src/{package}/py.typed": "py.typed",
    "tests/test_{package}.py": "test_{kind}.py",
}
_ONLY_FOR = {"retriever": {"corpus/animals.txt": "retriever.corpus"}}


def write_plugin(name: str, kind: str, folder: Path) -> list[Path]:
    """Write a new plugin project into `folder`, as `rqa-NAME/`, and return its files in the order written.

    Raises ConfigError when there is no such kind or the name cannot be a plugin's, InputError when the
    project's folder exists or cannot be written. Nothing that exists is changed.
    """
    if kind not in KINDS:
        hint = did_you_mean(kind, KINDS)
        raise ConfigError(f"There is no kind {kind!r} of component; the kinds are {', '.join(KINDS)}.", hint=hint)
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
            f"{error.filename} exists, and nothing is written over it.",
            hint="Choose another name or another folder.",
        ) from error
    except OSError as error:
        raise InputError(f"Cannot write the plugin project {root}: {error.strerror}.") from error
    return list(files)


def plugin_name(name: str, kind: str) -> str:
    """`name` as the name of a component: lower case, without spaces. Its package has `_` where it has `-`.

    Raises ConfigError, with a name that would do, when it is none or belongs to somebody else.
    """
    wanted = "-".join(name.lower().split())
    if not _NAME.match(wanted):
        raise ConfigError(
            f"{name!r} is no name for a plugin: use a-z, 0-9 and, inside, - and _; a letter first; at most 40 in all.",
            hint=f"For example {_nearest_name(wanted, kind)!r}.",
        )
    if owner := _owner(wanted):
        raise ConfigError(
            f"A plugin cannot be named {wanted!r}: that is the name of {owner}.",
            hint=f"For example {f'{wanted}-{kind}'!r}.",
        )
    return wanted


def _owner(name: str) -> str:
    """Who has the name already."""
    package = _package(name)
    if keyword.iskeyword(package):
        return "a keyword of Python"
    if name in BUILT_IN:
        return "a part of retriever expressions"
    if any(_package(entry.name) == package for entry in importlib.metadata.entry_points(group=GROUP)):
        return "an installed plugin"
    if importlib.util.find_spec(package):
        return "an installed Python module"
    return ""


def _nearest_name(wanted: str, kind: str) -> str:
    plain = unicodedata.normalize("NFKD", wanted).encode("ascii", "ignore").decode()
    kept = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:36]
    return kept if _NAME.match(kept) else f"my-{kept or kind}"


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
    }


def _render(template: str, fields: dict[str, str]) -> str:
    text = (_TEMPLATES / f"{template}.txt").read_text(encoding="utf-8")
    if "$configuration_block" in text:
        configuration = _render(f"{fields['kind']}.toml", fields)
        fields = {**fields, "configuration_block": textwrap.indent(configuration, "    ").rstrip()}
    return string.Template(text).substitute(fields)
