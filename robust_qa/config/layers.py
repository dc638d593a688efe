"""Merge TOML files, environment and command line into one configuration. Each value keeps its origin."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import ConfigError, RqaError, did_you_mean
from ..types import KINDS, NAMED_KINDS, Kind
from . import environment, trusted_files
from .values import Layer, Table, Tree, Value, absolute, shown

FILE_NAME = "rqa.toml"
USER_FILE_NAME = "config.toml"
TABLES = (
    *(kind for kind in KINDS if kind not in NAMED_KINDS),
    "defaults",
    "cache",
    "trust",
)  # besides those of checkers, recorders and commands
_FORM = 'Text needs quotation marks, as in strategy = "rag", and a table brackets, as in [defaults].'
_MOST_BYTES = 1_000_000  # of a configuration file; a larger one is something else
_VARIABLES = (*environment.NAMES, *environment.SHORTCUTS)


class Config:
    """The layers, highest precedence first.

    Raises ConfigError if the structure of a layer is wrong. With `problems`, adds the errors to that list instead
    and drops the wrong parts.
    """

    def __init__(self, layers: Sequence[Layer], *, problems: list[RqaError] | None = None) -> None:
        invalid = [list(_structure_errors(layer)) for layer in layers]
        errors = [error for parts in invalid for _, error in parts]
        if errors and problems is None:
            raise ConfigError.of(errors)
        if problems is not None:
            problems += errors
        self.layers = [
            _without(layer, [path for path, _ in parts]) for layer, parts in zip(layers, invalid, strict=True)
        ]

    def table(self, *path: str) -> Table:
        """Return the table at `path`, empty if no layer has it. Tables inside it are merged key by key.

        Raises ConfigError if a layer has a value instead of a table at `path`.
        """
        values: dict[str, Value] = {}
        for layer in reversed(self.layers):
            for key, value in _descend(layer, path).items():
                weaker = values.get(key)
                merging = weaker is not None and isinstance(weaker.value, dict) and isinstance(value, dict)
                values[key] = Value(value, layer, weaker if merging else None)
        return Table(".".join(path), values, self.untrusted)

    @property
    def untrusted(self) -> Layer | None:
        """The untrusted file, None if every layer is trusted."""
        return next((layer for layer in self.layers if layer.confined), None)

    def names(self, kind: str) -> list[str]:
        """Return the names of the tables of that kind in order of appearance, lowest precedence first."""
        return list(dict.fromkeys(name for layer in reversed(self.layers) for name in layer.tree.get(kind, {})))

    def leaves(self) -> Iterator[tuple[str, Value]]:
        """Return every value with its dotted key, sorted."""
        merged: dict[str, Value] = {}
        for layer in reversed(self.layers):
            merged.update((key, Value(value, layer)) for key, value in _flatten(layer.tree))
        yield from sorted(merged.items())

    def overridden(self) -> list[tuple[Kind, str]]:
        """Return the component tables that the command line or the environment sets options in."""
        textual = [layer for layer in self.layers if layer.textual]
        return list(
            dict.fromkeys((kind, name) for layer in textual for kind in KINDS for name in layer.tree.get(kind, {}))
        )

    def check_names(self, installed: Callable[[Kind], Iterable[str]]) -> None:
        """Raise ConfigError if the command line or the environment sets options of an unknown component."""
        for layer in self.layers:
            for kind in KINDS if layer.textual else ():
                known = set(installed(kind))
                known.update(*(other.tree.get(kind, {}) for other in self.layers if not other.textual))
                for name in layer.tree.get(kind, {}):
                    if name not in known and "plugin" not in self.table(kind, name).values:
                        raise ConfigError(
                            f"{layer.origin}: there is no configured or installed {kind} {name!r}.",
                            hint=did_you_mean(name, known) or f"Known: {', '.join(sorted(known)) or 'none'}.",
                        )

    def check_tables(self, named: Iterable[str], problems: list[RqaError] | None = None) -> None:
        """Raise ConfigError for a table that neither the host nor one of `named`, what plugins registered, has.

        With `problems`, adds the errors to that list instead.
        """
        known = (*TABLES, "plugins", *named)
        for layer in self.layers:
            for key in layer.tree:
                if key not in known:
                    error = ConfigError(
                        f"{layer.origin}: there is no table [{key}]. The tables are {', '.join(TABLES)}.",
                        hint=_named(key, layer.tree[key], known) if key in NAMED_KINDS else did_you_mean(key, known),
                    )
                    if problems is None:
                        raise error
                    problems.append(error)

    def of_command(self, name: str) -> dict[str, Any]:
        """Return the table of a command, merged from the environment and the trusted files.

        Raises ConfigError if a file that is not trusted has one.
        """
        found: dict[str, Any] = {}
        for layer in reversed(self.layers):
            if table := _descend(layer, (name,)):
                if layer.confined:
                    raise ConfigError(f"{layer.origin}: an untrusted file cannot set [{name}].", hint=layer.allowing)
                found |= table
        return found

    def plugin_files(self, problems: list[RqaError] | None = None) -> tuple[list[Path], list[str]]:
        """Return the plugin files to load, and a warning for each one that an untrusted file names.

        Raises ConfigError if a name is not a valid path. With `problems`, adds the errors to that list instead.
        """
        allowed: list[Path] = []
        refused: list[str] = []
        for layer in self.layers:
            for name in layer.tree.get("plugins", ()):
                if layer.confined:
                    refused.append(
                        f"did not load the plugin {name}, because {layer.origin} is untrusted. {layer.allowing} "
                        f"Or load the plugin once: --plugin {shlex.quote(name)}."
                    )
                    continue
                try:
                    allowed.append(absolute(name, layer.folder))
                except ConfigError as error:
                    problem = ConfigError(f"{layer.origin}: `plugins`: {error.message}")
                    if problems is None:
                        raise problem from error
                    problems.append(problem)
        return allowed, refused


def _named(kind: str, tables: Any, known: Sequence[str]) -> str:
    """The hint for a table such as [checker.NAME], which is [NAME]."""
    name = next(iter(tables), "NAME") if isinstance(tables, dict) else "NAME"
    missing = f" No {kind} {name!r} is installed: `rqa plugins` lists them." if name not in known else ""
    return f"The table of a {kind} is that of its name. Write [{name}].{missing}"


def load(
    *,
    file: Path | None = None,
    overrides: Sequence[tuple[str, str]] = (),
    problems: list[RqaError] | None = None,
) -> Config:
    """Load the configuration: command line, environment, `file` or the nearest rqa.toml, the user's own file.

    `overrides` are the command line's KEY=VALUE pairs. With `problems`, adds errors to that list and drops the wrong
    parts; otherwise raises the first error.
    """
    if file is None and (named := os.environ.get(environment.CONFIG)):
        file = absolute(named, Path())
    found = None if file else find()
    user = environment.config_dir() / USER_FILE_NAME
    readers: list[Callable[[], Layer | None]] = [
        partial(_textual, "the command line", overrides),
        *(partial(_variable, name, value) for name, value in sorted(os.environ.items())),
    ]
    if file:
        readers.append(partial(read, file))
    elif found:
        readers.append(partial(read, found, found=True))
    if user.is_file():
        readers.append(partial(read, user))
    layers = []
    for each in readers:
        try:
            layers.append(each())
        except ConfigError as error:
            if problems is None:
                raise
            problems.append(error)
    return Config([layer for layer in layers if layer and layer.tree], problems=problems)


def find(start: Path | None = None) -> Path | None:
    """Return the nearest rqa.toml in `start` (default: the working directory) or above it."""
    start = start or Path.cwd()
    for folder in (start, *start.parents):
        # Not Path.is_file, which raises PermissionError.
        if os.path.isfile(folder / FILE_NAME):  # noqa: PTH113
            return folder / FILE_NAME
    return None


def read(path: Path, *, found: bool = False) -> Layer:
    """Read a file as a layer, confined if it was `found` and is not trusted. Raises ConfigError if it is not TOML."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise ConfigError(
            f"Cannot read the configuration {path}: {error.strerror}.",
            hint="Write a starter file with `rqa init`."
            if isinstance(error, FileNotFoundError)
            else environment.elsewhere(path),
        ) from error
    confined = found and not trusted_files.is_trusted(path, content)
    return Layer(str(path), parse(content, path), path.parent.resolve(), confined=confined)


def parse(content: bytes, path: Path) -> Tree:
    """Parse `content`, read from `path`."""
    import tomli

    if len(content) > _MOST_BYTES:
        raise ConfigError(
            f"The configuration {path} is larger than {_MOST_BYTES:,} bytes.",
            hint="Remove what is not configuration from it.",
        )
    try:
        return tomli.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"The configuration {path} is not UTF-8 text (line {line}).") from error
    except ValueError as error:  # TOMLDecodeError, and integers with too many digits
        raise ConfigError(f"The configuration {path} is not valid TOML: {error}.", hint=_FORM) from error
    except RecursionError as error:
        raise ConfigError(f"The configuration {path} is nested too deeply.") from error


def set_path(tree: Tree, key: str, value: Any, *, origin: str) -> None:
    """Set the dotted `key` of `tree` to `value`."""
    *tables, last = key.split(".")
    for part in tables:
        tree = tree.setdefault(part, {})
        if not isinstance(tree, dict):
            raise ConfigError(f"{origin}: cannot set {key!r}, because {part!r} is not a table.")
    tree[last] = value


def _textual(origin: str, pairs: Sequence[tuple[str, str]]) -> Layer:
    tree: Tree = {}
    for key, value in pairs:
        set_path(tree, key, value, origin=origin)
    return Layer(origin, tree, textual=True)


def _variable(name: str, value: str) -> Layer | None:
    """Return an environment variable as a layer, None if it sets nothing."""
    if not name.startswith(environment.PREFIX) or name.startswith(environment.KEY_PREFIX):
        return None
    if key := environment.SHORTCUTS.get(name):
        return _textual(name, [(key, value)])
    if "__" in name:
        return _textual(name, [(name.removeprefix(environment.PREFIX).lower().replace("__", "."), value)])
    # Other names may belong to plugins. Report only likely typos.
    if name not in environment.NAMES and (hint := did_you_mean(name, _VARIABLES, likeness=0.85)):
        raise ConfigError(f"Unknown environment variable {name}.", hint=hint)
    return None


def _structure_errors(layer: Layer) -> Iterator[tuple[tuple[str, ...], ConfigError]]:
    """Return the errors in the structure of a layer, each with the path of the wrong part."""
    if odd := next((key for key in _keys(layer.tree) if not key.isprintable()), ""):
        yield (), ConfigError(f"{layer.origin}: the key {odd!r} contains unprintable characters.")
        return
    for key, value in layer.tree.items():
        for path, problem, hint in _entry_errors(key, value, layer):
            yield path, ConfigError(f"{layer.origin}: {problem}", hint=hint)


def _without(layer: Layer, paths: Sequence[tuple[str, ...]]) -> Layer:
    """Return the layer without the parts at `paths`, of at most two keys each. () is the whole layer."""
    if () in paths:
        return replace(layer, tree={})
    tree = {key: dict(value) if isinstance(value, dict) else value for key, value in layer.tree.items()}
    for *tables, last in paths:
        (tree[tables[0]] if tables else tree).pop(last)
    return replace(layer, tree=tree) if paths else layer


def _entry_errors(key: str, value: Any, layer: Layer) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Return the errors of a top-level key and its value, each with its path and a hint."""
    if key == "plugins":
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            hint = "On the command line, use --plugin FILE." if layer.textual else 'Example: plugins = ["notes.py"]'
            yield (key,), "`plugins` must be a list of file names.", hint
    elif key not in TABLES and not isinstance(value, dict):
        yield (key,), f"there is no table [{key}]. The tables are {', '.join(TABLES)}.", did_you_mean(key, TABLES)
    elif not isinstance(value, dict):
        yield (key,), f"`{key}` must be a table, not {shown(key, value)}.", ""
    elif key in KINDS:
        for name, table in value.items():
            if not isinstance(table, dict):
                problem = f"`{name}` must be inside a named table such as [{key}.NAME]."
                yield (key, name), problem, f"Write [{key}.NAME] above `{name} = ...`."
    elif key == "cache" and layer.confined and "folder" in value:
        yield (key, "folder"), "an untrusted file cannot set `cache.folder`.", layer.allowing
    elif key == "trust" and layer.confined:
        yield (key,), "an untrusted file cannot set [trust], the weights of sources.", layer.allowing


def _keys(value: Any) -> Iterator[str]:
    """Return all keys at any depth. Messages repeat them, so an untrusted key must not fake lines of rqa."""
    if isinstance(value, dict):
        yield from value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _keys(item)


def _descend(layer: Layer, path: Sequence[str]) -> Tree:
    tree = layer.tree
    for depth, part in enumerate(path, start=1):
        tree = tree.get(part, {})
        if not isinstance(tree, dict):
            key = ".".join(path[:depth])
            raise ConfigError(f"{layer.origin}: `{key}` must be a table, not {shown(key, tree)}.")
    return tree


def _flatten(tree: Tree, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value
