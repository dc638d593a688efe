"""TOML files, environment and command line, layered into one tree that knows where each value came from."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import ConfigError, RqaError, did_you_mean
from ..types import KINDS, Kind
from . import environment, trust
from .redaction import shown
from .values import Layer, Table, Tree, Value, absolute

FILE_NAME = "rqa.toml"
USER_FILE_NAME = "config.toml"
TABLES = (*KINDS, "defaults", "cache")
_LARGEST = 4 * 1024 * 1024  # bytes of a configuration file
_VARIABLES = (*environment.NAMES, *environment.SHORTCUTS)
_DEEPEST = 50  # tables and lists in one another


class Config:
    """The layers, strongest first.

    Raises ConfigError if a layer has a wrong shape. With `problems` the errors are added to that list instead, and the
    wrong parts are left out.
    """

    def __init__(self, layers: Sequence[Layer], *, problems: list[RqaError] | None = None) -> None:
        wrong = [list(_misshapen(layer)) for layer in layers]
        found = [error for parts in wrong for _, error in parts]
        if found and problems is None:
            raise ConfigError.of(found)
        if problems is not None:
            problems += found
        self.layers = [_without(layer, [path for path, _ in parts]) for layer, parts in zip(layers, wrong, strict=True)]

    def table(self, *path: str) -> Table:
        """The table at `path`, empty when no layer has it. Tables under an option merge key by key.

        Raises ConfigError where a layer has a value there.
        """
        values: dict[str, Value] = {}
        for layer in reversed(self.layers):
            for key, value in _descend(layer, path).items():
                weaker = values.get(key)
                merging = weaker is not None and isinstance(weaker.value, dict) and isinstance(value, dict)
                values[key] = Value(value, layer, weaker if merging else None)
        return Table(".".join(path), values)

    def names(self, kind: str) -> list[str]:
        """The names of the tables of that kind, in order of appearance, weakest layer first."""
        return list(dict.fromkeys(name for layer in reversed(self.layers) for name in layer.tree.get(kind, {})))

    def leaves(self) -> Iterator[tuple[str, Value]]:
        """Every value with its dotted key, sorted."""
        merged: dict[str, Value] = {}
        for layer in reversed(self.layers):
            merged.update((key, Value(value, layer)) for key, value in _flatten(layer.tree))
        yield from sorted(merged.items())

    def overridden(self) -> list[tuple[Kind, str]]:
        """The component tables that the command line or the environment has a part in."""
        textual = [layer for layer in self.layers if layer.textual]
        return list(
            dict.fromkeys((kind, name) for layer in textual for kind in KINDS for name in layer.tree.get(kind, {}))
        )

    def check_names(self, installed: Callable[[Kind], Iterable[str]]) -> None:
        """ConfigError when the command line or the environment sets options of a component that there is not."""
        for layer in self.layers:
            for kind in KINDS if layer.textual else ():
                known = set(installed(kind))
                known.update(*(other.tree.get(kind, {}) for other in self.layers if not other.textual))
                for name in layer.tree.get(kind, {}):
                    if name not in known and "plugin" not in self.table(kind, name).values:
                        raise ConfigError(
                            f"{layer.origin}: there is no {kind} {name!r}, neither configured nor installed.",
                            hint=did_you_mean(name, known) or f"Known: {', '.join(sorted(known)) or 'none'}.",
                        )

    def plugin_files(self, problems: list[RqaError] | None = None) -> tuple[list[Path], list[str]]:
        """Plugin files to load, and a line for each that a confined configuration asks for in vain.

        Raises ConfigError if a name is no path; with `problems` the errors are added to that list instead.
        """
        allowed: list[Path] = []
        refused: list[str] = []
        for layer in self.layers:
            for name in layer.tree.get("plugins", ()):
                if layer.confined:
                    refused.append(
                        f"{layer.origin} asks to load code from {name}: not loaded, since the file was found by "
                        f"walking up from here. {layer.allowing} Or load it this once: --plugin {shlex.quote(name)}."
                    )
                    continue
                try:
                    allowed.append(absolute(name, layer.folder))
                except ConfigError as error:
                    told = ConfigError(f"{layer.origin}: `plugins`: {error.message}")
                    if problems is None:
                        raise told from error
                    problems.append(told)
        return allowed, refused


def load(
    *,
    file: Path | None = None,
    overrides: Sequence[tuple[str, str]] = (),
    problems: list[RqaError] | None = None,
) -> Config:
    """The configuration in force: command line, environment, `file` or the found one, the user's own.

    `overrides` are the command line's KEY=VALUE pairs. With `problems` errors are added to that list, and the wrong
    parts are left out; without it the first error is raised.
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
    """The nearest rqa.toml in `start` (default: here) or a folder above it."""
    try:
        start = start or Path.cwd()
    except FileNotFoundError:
        return None  # the working directory has been removed
    for folder in (start, *start.parents):
        # Not Path.is_file, which raises where a folder may not be looked into.
        if os.path.isfile(folder / FILE_NAME):  # noqa: PTH113
            return folder / FILE_NAME
    return None


def read(path: Path, *, found: bool = False) -> Layer:
    """One file as a layer, confined when it was `found` and is not trusted. ConfigError says where it is not TOML."""
    try:
        if path.stat().st_size > _LARGEST:
            raise ConfigError(f"The configuration {path} has more than {_LARGEST >> 20} MB: that is no configuration.")
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"Cannot read the configuration {path}: {error.strerror}.",
            hint="`rqa init` writes a starter file."
            if isinstance(error, FileNotFoundError)
            else environment.elsewhere(path),
        ) from error
    confined = found and not trust.is_trusted(path, content)
    return Layer(str(path), parse(content, path), path.parent.resolve(), confined=confined)


def parse(content: bytes, path: Path) -> Tree:
    """The tree in `content`, which is what the file at `path` holds."""
    import tomli

    try:
        return tomli.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"The configuration {path} is not UTF-8 text (line {line}).") from error
    except ValueError as error:  # TOMLDecodeError, and numbers of too many digits
        raise ConfigError(f"The configuration {path} is not TOML: {error}.") from error
    except RecursionError:
        raise ConfigError(f"The configuration {path} is nested too deeply.") from None


def set_path(tree: Tree, key: str, value: Any, *, origin: str) -> None:
    """Put `value` at the dotted `key` of `tree`."""
    *tables, last = key.split(".")
    for part in tables:
        tree = tree.setdefault(part, {})
        if not isinstance(tree, dict):
            raise ConfigError(f"{origin}: {key!r} goes through {part!r}, which is a value and not a table.")
    tree[last] = value


def _textual(origin: str, pairs: Sequence[tuple[str, str]]) -> Layer:
    tree: Tree = {}
    for key, value in pairs:
        set_path(tree, key, value, origin=origin)
    return Layer(origin, tree, textual=True)


def _variable(name: str, value: str) -> Layer | None:
    """The environment variable as a layer, None if it sets nothing."""
    if not name.startswith(environment.PREFIX) or name.startswith(environment.KEY_PREFIX):
        return None
    if key := environment.SHORTCUTS.get(name):
        return _textual(name, [(key, value)])
    if "__" in name:
        return _textual(name, [(name.removeprefix(environment.PREFIX).lower().replace("__", "."), value)])
    # Any other name may be a plugin's own, unless it is all but one of ours.
    if name not in environment.NAMES and (hint := did_you_mean(name, _VARIABLES, likeness=0.85)):
        raise ConfigError(f"The environment variable {name} means nothing to rqa.", hint=hint)
    return None


def _misshapen(layer: Layer) -> Iterator[tuple[tuple[str, ...], ConfigError]]:
    """The errors in the shape of a layer, each with the keys that lead to the wrong part."""
    if _deeper(layer.tree, _DEEPEST):
        yield (), ConfigError(f"{layer.origin}: tables and lists are nested more than {_DEEPEST} deep.")
        return
    if odd := next((key for key in _keys(layer.tree) if not key.isprintable()), ""):
        yield (), ConfigError(f"{layer.origin}: the key {odd!r} holds line breaks, or what else cannot be printed.")
        return
    for key, value in layer.tree.items():
        for path, problem, hint in _wrong_with(key, value, layer):
            yield path, ConfigError(f"{layer.origin}: {problem}", hint=hint)


def _without(layer: Layer, paths: Sequence[tuple[str, ...]]) -> Layer:
    """The layer without the parts at these paths, which have at most two keys; () is the whole layer."""
    if () in paths:
        return replace(layer, tree={})
    tree = {key: dict(value) if isinstance(value, dict) else value for key, value in layer.tree.items()}
    for *tables, last in paths:
        (tree[tables[0]] if tables else tree).pop(last)
    return replace(layer, tree=tree) if paths else layer


def _wrong_with(key: str, value: Any, layer: Layer) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """What is wrong with a top-level key and what stands there, each with its path and a hint."""
    if key == "plugins":
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            hint = "On the command line: --plugin FILE." if layer.textual else 'As in: plugins = ["notes.py"]'
            yield (key,), "`plugins` must be a list of file names.", hint
    elif key not in TABLES:
        told = f"there is no table [{key}]; the tables are {', '.join(TABLES)}."
        yield (key,), told, did_you_mean(key, (*TABLES, "plugins"))
    elif not isinstance(value, dict):
        yield (key,), f"`{key}` must be a table, not {shown(key, value)}.", ""
    elif key in KINDS:
        for name, table in value.items():
            if not isinstance(table, dict):
                told = f"[{key}] holds named tables; `{name}` must stand in one of them."
                yield (key, name), told, f"Write [{key}.NAME] above `{name} = ...`."
    elif key == "cache" and layer.confined and "folder" in value:
        yield (key, "folder"), "`cache.folder` is not for a file that was found by walking up.", layer.allowing


def _deeper(value: Any, levels: int) -> bool:
    return levels < 0 or any(_deeper(item, levels - 1) for item in _inner(value))


def _keys(value: Any) -> Iterator[str]:
    """All keys at any depth, which messages repeat: a stranger's must not look like lines of rqa."""
    if isinstance(value, dict):
        yield from value
    for item in _inner(value):
        yield from _keys(item)


def _inner(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


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
