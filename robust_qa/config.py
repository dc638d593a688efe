"""TOML files, environment and command line, layered into one tree that knows where each value came from."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import environment, trust
from .errors import ConfigError
from .host import KINDS
from .nearest import did_you_mean

FILE_NAME = "rqa.toml"
USER_FILE_NAME = "config.toml"
TABLES = (*KINDS, "defaults", "cache")

Tree = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Layer:
    """One source of values. `folder` is what its relative paths are relative to.

    A `confined` layer was found by walking up from the working directory and nobody vouched for it: it loads
    no code, reads no file outside its folder, and reaches no host and no key the user did not allow.
    `textual` values are strings still to be read as the type their option has.
    """

    origin: str
    tree: Tree
    folder: Path = field(default_factory=Path.cwd)
    confined: bool = False
    textual: bool = False


@dataclass(frozen=True, slots=True)
class Value:
    """A value and the layer it came from."""

    value: Any
    layer: Layer


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its layers merged: `name` is its dotted path, `values` its keys, the strongest layer's each."""

    name: str
    values: Mapping[str, Value]


class Config:
    """The layers, strongest first."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        self.layers = list(layers)
        for layer in self.layers:
            _check_shape(layer)

    def table(self, *path: str) -> Table:
        """The table at `path`, empty when no layer has it. Nested tables under an option merge key by key."""
        values: dict[str, Value] = {}
        for layer in reversed(self.layers):
            for key, value in _descend(layer.tree, path).items():
                values[key] = _merge(values.get(key), Value(value, layer))
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

    def plugin_files(self) -> tuple[list[Path], list[str]]:
        """Plugin files to load, and a line for each that a confined configuration asks for in vain."""
        allowed: list[Path] = []
        refused: list[str] = []
        for layer in self.layers:
            for name in layer.tree.get("plugins", ()):
                if layer.confined:
                    refused.append(
                        f"{layer.origin} asks to load code from {name}: not loaded, since the file was found by "
                        f"walking up from here. To allow it: {_vouch(layer)}, or --plugin {name}."
                    )
                else:
                    allowed.append((layer.folder / Path(name).expanduser()).resolve())
        return allowed, refused


def load(
    *,
    file: Path | None = None,
    overrides: Sequence[tuple[str, str]] = (),
    start: Path | None = None,
) -> Config:
    """The configuration in force: command line, environment, `file` or the found one, the user's own.

    `overrides` are the command line's KEY=VALUE pairs; `start` is where walking up begins (default: here).
    """
    if file is None and (named := os.environ.get(environment.CONFIG)):
        file = Path(named).expanduser()
    found = None if file else find(start or Path.cwd())
    layers = [_textual("the command line", overrides), _environment()]
    if file:
        layers.append(read(file))
    elif found:
        layers.append(read(found, confined=not trust.is_trusted(found)))
    user = environment.config_dir() / USER_FILE_NAME
    if user.is_file():
        layers.append(read(user))
    return Config([layer for layer in layers if layer.tree])


def find(start: Path) -> Path | None:
    """The nearest rqa.toml in `start` or a folder above it."""
    for folder in (start, *start.parents):
        if (folder / FILE_NAME).is_file():
            return folder / FILE_NAME
    return None


def read(path: Path, *, confined: bool = False) -> Layer:
    """One file as a layer. ConfigError says where it is not TOML."""
    import tomli

    try:
        tree = tomli.loads(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise ConfigError(
            f"Cannot read the configuration {path}: {error.strerror}.",
            hint="`rqa init` writes a starter file.",
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"The configuration {path} is not UTF-8 text.") from error
    except tomli.TOMLDecodeError as error:
        raise ConfigError(f"The configuration {path} is not TOML: {error}.") from error
    return Layer(str(path), tree, path.parent.resolve(), confined=confined)


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


def _environment() -> Layer:
    pairs: list[tuple[str, str]] = []
    for name, value in sorted(os.environ.items()):
        if not name.startswith(environment.PREFIX) or name.startswith(environment.KEY_PREFIX):
            continue
        if name in environment.SHORTCUTS:
            pairs.append((environment.SHORTCUTS[name], value))
        elif "__" in name:
            pairs.append((name.removeprefix(environment.PREFIX).lower().replace("__", "."), value))
    return _textual("the environment (RQA_*)", pairs)


def _check_shape(layer: Layer) -> None:
    for key, value in layer.tree.items():
        if key == "plugins":
            if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
                raise ConfigError(f"{layer.origin}: `plugins` must be a list of file names.")
        elif key not in TABLES:
            hint = did_you_mean(key, (*TABLES, "plugins"))
            raise ConfigError(
                f"{layer.origin}: there is no table [{key}]; the tables are {', '.join(TABLES)}.", hint=hint
            )
        elif not isinstance(value, dict):
            raise ConfigError(f"{layer.origin}: `{key}` must be a table, not {value!r}.")
        elif key in KINDS:
            for name, table in value.items():
                if not isinstance(table, dict):
                    raise ConfigError(
                        f"{layer.origin}: [{key}] holds named tables; `{name}` must stand in one of them.",
                        hint=f"Write [{key}.NAME] above `{name} = ...`.",
                    )


def _merge(weaker: Value | None, stronger: Value) -> Value:
    if weaker is None or not isinstance(weaker.value, dict) or not isinstance(stronger.value, dict):
        return stronger
    # A mixed table is as little trusted as its least trusted part.
    layer = weaker.layer if weaker.layer.confined else stronger.layer
    return Value({**weaker.value, **stronger.value}, layer)


def _descend(tree: Tree, path: Sequence[str]) -> Tree:
    for part in path:
        tree = tree.get(part, {})
    return tree


def _flatten(tree: Tree, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _vouch(layer: Layer) -> str:
    return f"`rqa config trust {layer.origin}`"
