"""Configuration values with the layer they came from."""

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
    """One source of values. Its relative paths start at `folder`.

    A `confined` layer is an untrusted rqa.toml, found in the working directory or above. It loads no code, reads no
    file outside its folder, and contacts no other machine. While it applies, no key is used. The values of a
    `textual` layer are strings, to be converted to the option's type. A `public` layer comes with rqa: it has no
    text of the user's own.
    """

    origin: str
    tree: Tree
    folder: Path = field(default_factory=Path.cwd)
    confined: bool = False
    textual: bool = False
    public: bool = False

    @property
    def allowing(self) -> str:
        """A hint how to trust this file."""
        return f"Trust the file with `rqa config trust {shlex.quote(self.origin)}`."


@dataclass(frozen=True, slots=True)
class Value:
    """A value with its layer. `under` is the same key's table in a weaker layer, to be merged."""

    value: Any
    layer: Layer
    under: Value | None = None

    @property
    def layers(self) -> list[Layer]:
        """All layers of the value, highest precedence first."""
        return [self.layer, *(self.under.layers if self.under else ())]

    @property
    def confined(self) -> bool:
        """Whether any part of it is from an untrusted file."""
        return any(layer.confined for layer in self.layers)


@dataclass(frozen=True, slots=True)
class Table:
    """A table merged from all layers. `name` is its dotted path.

    `untrusted` is the untrusted file of the configuration, even if it sets nothing in this table.
    """

    name: str
    values: Mapping[str, Value]
    untrusted: Layer | None = None


def absolute(name: str, folder: Path) -> Path:
    """Return the absolute path of `name`, relative to `folder`, with ~ expanded. Raises ConfigError if invalid."""
    try:
        if not name or "\0" in name:
            raise ValueError("it is empty or contains a NUL")
        return (folder / Path(name).expanduser()).absolute()
    except (ValueError, RuntimeError) as error:  # RuntimeError: an unknown user in ~user
        raise ConfigError(f"{name!r} is not a valid path: {error}.") from error
