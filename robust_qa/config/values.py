"""Configuration values that know which layer they came from."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import ConfigError

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

    @property
    def allowing(self) -> str:
        """How the user allows what this layer asks for, as a hint. A stranger named its folder: it is quoted."""
        return f"To allow it: `rqa config trust {shlex.quote(self.origin)}`."


@dataclass(frozen=True, slots=True)
class Value:
    """A value and the layer it came from. `under` is the next weaker one, where both are tables to be merged."""

    value: Any
    layer: Layer
    under: Value | None = None

    @property
    def layers(self) -> list[Layer]:
        """All layers that have a part in it, the strongest first."""
        return [self.layer, *(self.under.layers if self.under else ())]

    @property
    def confined(self) -> bool:
        """Whether any part of it is from a file that nobody vouched for."""
        return any(layer.confined for layer in self.layers)


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its layers merged: `name` is its dotted path, `values` its keys, the strongest layer's each."""

    name: str
    values: Mapping[str, Value]


def absolute(name: str, folder: Path) -> Path:
    """The path that `name` means in a configuration of that `folder`, with ~ expanded. ConfigError: none at all."""
    try:
        if not name or "\0" in name:
            raise ValueError("it is empty, or holds a NUL")
        return (folder / Path(name).expanduser()).absolute()
    except (ValueError, RuntimeError) as error:  # RuntimeError: ~somebody who is not there
        raise ConfigError(f"{name!r} is no path: {error}.") from error
