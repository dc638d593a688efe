"""Configuration values with the layer they came from, and without their secrets for messages."""

from __future__ import annotations

import json
import re
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


_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,39}\Z")

# The key prefixes of common providers, or 20 letters and digits in a row.
_LOOKS_SECRET = re.compile(
    r"(sk|pk|rk|xai|pplx|nvapi)[-_]|(gsk|hf|gh[opsu])_|AIza|eyJ|(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{20}"
)
_HOLDS_SECRET = re.compile(rf"\b({_LOOKS_SECRET.pattern})\S{{6,}}|\b(Bearer|Basic)\s+\S+", re.IGNORECASE)
_NAMES_SECRET = re.compile(
    r"key|token|secret|passw|passphrase|auth(?!ors?\Z)|credential|cookie|signature|\Asig\Z", re.IGNORECASE
)
_NAMES_COUNT = re.compile(r"\A(max|min)_\w*tokens(_\w*)?\Z")
_KEY_OPTION = re.compile(r"[a-z]+\.[^.]+\.key\Z")
HIDDEN = "********"
_LONGEST_SHOWN = 200  # characters of a value in an error message


def is_key_name(text: str) -> bool:
    """Return whether `text` can be a key's name and does not look like a key."""
    return bool(_NAME.match(text)) and not _LOOKS_SECRET.match(text)


def scrubbed(key: str, value: Any) -> Any:
    """Return the configuration value at the dotted `key` with possible secrets hidden."""
    if isinstance(value, dict):
        return {name: scrubbed(f"{key}.{name}", inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [scrubbed(key, inner) for inner in value]
    if not isinstance(value, str):
        return value
    last = key.rpartition(".")[2]
    if _KEY_OPTION.match(key):
        return value if is_key_name(value) else HIDDEN
    if _NAMES_SECRET.search(last) and not _NAMES_COUNT.match(last):
        return HIDDEN
    value = re.sub(r"(?<=//)[^/\s]+@", f"{HIDDEN}@", value)  # user name and password in a URL
    value = re.sub(r"(?<=[?&])([^=&#\s]+)=([^&#\s]+)", _scrubbed_parameter, value)
    return _HOLDS_SECRET.sub(HIDDEN, value)


def shown(key: str, value: Any) -> str:
    """Return `value` for an error message, scrubbed and shortened."""
    text = json.dumps(scrubbed(key, value), ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def _scrubbed_parameter(match: re.Match[str]) -> str:
    return f"{match[1]}={HIDDEN}" if _NAMES_SECRET.search(match[1]) else match[0]
