"""Restrict untrusted configuration files, and remember trusted ones.

A cloned repository may contain an rqa.toml. Until the user trusts it, its values must not name a file outside its
folder or another machine. While it applies, no key is used, so it can neither spend money nor send a key. It also
must not redirect values from the user's own configuration to another port of this machine.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..errors import ConfigError
from . import environment
from .files import atomic_write, locked
from .key import is_loopback, origin
from .values import Layer, Table, absolute, shown

_FILE_NAME = "trusted.json"
_URL = re.compile(r"\s*(https?:|[a-z][a-z0-9+.-]*://)", re.IGNORECASE)


def check_text(text: str, layer: Layer, *, is_path: bool) -> None:
    """Raise ConfigError if `text` of an untrusted file names a forbidden host or path. Follows links below a path."""
    if _is_url(text):
        host = _host(text)
        if not is_loopback(host):
            raise ConfigError(
                f"an untrusted file cannot send questions and passages to {origin(text) or host or text}.",
                hint=layer.allowing,
            )
        return
    try:
        path = absolute(text, layer.folder)
    except ConfigError:
        return  # not a path
    if not _is_inside(path, layer.folder) or (is_path and _leads_outside(path, layer.folder)):
        raise ConfigError(
            f"an untrusted file cannot use {shown('', text)}, which is outside its folder.",
            hint=layer.allowing,
        )


def redirections(table: Table, converted: Mapping[str, Any]) -> Iterator[ConfigError]:
    """Return an error for each URL from an untrusted file in a table that also has texts of the user's own.

    Those texts may be secrets, such as request headers, for another host.
    """
    own = {
        key: next((layer for layer in table.values[key].layers if not (layer.confined or layer.public)), None)
        for key, value in converted.items()
        if any(isinstance(leaf, str | Path) for leaf in leaves(value))
    }
    carried = [(key, layer.origin) for key, layer in own.items() if layer is not None]
    for key, value in converted.items():
        if carried and table.values[key].confined and any(map(_is_url, leaves(value))):
            layer = next(layer for layer in table.values[key].layers if layer.confined)
            yield ConfigError(
                f"{layer.origin}: an untrusted file cannot set `{table.name}.{key}`, because {carried[0][1]} sets "
                f"`{carried[0][0]}` in [{table.name}].",
                hint=layer.allowing,
            )


def _host(url: str) -> str:
    """Return the host of `url`, "" if it is ambiguous."""
    try:
        return "" if not url.isprintable() or set(url) & set(' \\@"<>') else urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _is_inside(path: Path, folder: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(folder)  # Path.resolve raises on a link to itself


def _leads_outside(path: Path, folder: Path) -> bool:
    return any(
        (link := Path(parent, name)).is_symlink() and not _is_inside(link, folder)
        for parent, folders, files in os.walk(path)
        for name in (*folders, *files)
    )


def _is_url(text: object) -> bool:
    return isinstance(text, str) and bool(_URL.match(text))


def leaves(value: Any) -> Iterator[Any]:
    """Return all values in nested tables and lists."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple | set | frozenset):
        for inner in value:
            yield from leaves(inner)
    else:
        yield value


def is_trusted(path: Path, content: bytes) -> bool:
    """Return whether the user trusts the file at `path` with this content."""
    return _load().get(_name(path)) == _digest(content)


def trust(path: Path, content: bytes) -> None:
    """Trust the file at `path` as long as it has this content."""
    with locked(_file()):
        _store({**_load(), _name(path): _digest(content)})


def distrust(path: Path) -> bool:
    """Stop trusting the file at `path`. Return False if it was not trusted."""
    with locked(_file()):
        known = _load()
        found = known.pop(_name(path), None) is not None
        if found:
            _store(known)
    return found


def _file() -> Path:
    return environment.config_dir() / _FILE_NAME


def _name(path: Path) -> str:
    # Do not resolve a link to the file itself: its relative paths would start at another folder.
    return str(path.parent.resolve() / path.name)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _load() -> dict[str, str]:
    try:
        loaded = json.loads(_file().read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        loaded = None
    return loaded if isinstance(loaded, dict) else {}


def _store(known: dict[str, str]) -> None:
    with atomic_write(_file(), 0o600) as file:
        file.write(json.dumps(known, indent=2, sort_keys=True).encode() + b"\n")
