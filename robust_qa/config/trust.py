"""What a configuration may not say that was found by walking up, and that nobody vouched for.

Whoever wrote a repository wrote its rqa.toml. So its texts, whatever their options say they are, name no file
outside its folder, and no host but this machine and the servers the user stored a key for; and it does not send
elsewhere what the user's own configuration put into a table.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..errors import ConfigError
from . import environment, redaction
from . import keys as secrets
from .files import locked, write_private
from .values import Layer, Table, Value, absolute

_FILE_NAME = "trusted.json"
_URL = re.compile(r"\s*(https?:|[a-z][a-z0-9+.-]*://)", re.IGNORECASE)


def check_text(text: str, layer: Layer, *, is_path: bool) -> None:
    """ConfigError when `text` of a confined layer leads outside; a path also when links below it do."""
    if _is_url(text):
        host = _host(text)
        server = secrets.origin(text) if host else ""
        known = {key.host for key in secrets.stored_keys().values()}
        if not secrets.is_loopback(host) and (not server or server not in known):
            raise ConfigError(
                f"this would send questions and passages to {server or host or text}, and the file was found by "
                "walking up.",
                hint=layer.allowing,
            )
        return
    try:
        path = absolute(text, layer.folder)
    except ConfigError:
        return  # what is no path leads nowhere
    if not _is_inside(path, layer.folder) or (is_path and _leads_outside(path, layer.folder)):
        raise ConfigError(
            f"{redaction.shown('', text)} is outside the folder of this file, which was found by walking up.",
            hint=layer.allowing,
        )


def redirections(table: Table, converted: Mapping[str, Any]) -> Iterator[ConfigError]:
    """An error for each URL of a confined layer in a table where texts of the user's own stand too.

    Such texts may be secrets (request headers), and were written for another host.
    """
    own = {
        key: next((layer for layer in table.values[key].layers if not layer.confined), None)
        for key, value in converted.items()
        if any(isinstance(leaf, str | Path) for leaf in leaves(value))
    }
    carried = [(key, layer.origin) for key, layer in own.items() if layer is not None]
    for key, value in converted.items():
        if carried and table.values[key].confined and any(map(_is_url, leaves(value))):
            layer = _confined_layer(table.values[key])
            yield ConfigError(
                f"{layer.origin}: `{table.name}.{key}` would send elsewhere what {carried[0][1]} sets in "
                f"[{table.name}] (`{carried[0][0]}`), and the file was found by walking up.",
                hint=layer.allowing,
            )


def _host(url: str) -> str:
    """The host of `url`, "" where programs may differ in what that is."""
    try:
        return "" if not url.isprintable() or set(url) & set(' \\@"<>') else urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _confined_layer(value: Value) -> Layer:
    return next(layer for layer in value.layers if layer.confined)


def _is_inside(path: Path, folder: Path) -> bool:
    try:
        path.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            return False  # asked first: what resolving does with a loop of links depends on the version of Python
    return path.resolve().is_relative_to(folder)


def _leads_outside(path: Path, folder: Path) -> bool:
    return any(
        (link := Path(parent, name)).is_symlink() and not _is_inside(link, folder)
        for parent, folders, files in os.walk(path)
        for name in (*folders, *files)
    )


def _is_url(text: object) -> bool:
    return isinstance(text, str) and bool(_URL.match(text))


def leaves(value: Any) -> Iterator[Any]:
    """What is in tables and lists, however deep."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple | set | frozenset):
        for inner in value:
            yield from leaves(inner)
    else:
        yield value


def is_trusted(path: Path, content: bytes) -> bool:
    """Whether the user has vouched for the file at `path` with that content."""
    return _load().get(_place(path)) == _digest(content)


def trust(path: Path, content: bytes) -> None:
    """Vouch for the file at `path` as long as `content` is what it holds."""
    place = _place(path)
    with locked(_file()):
        _store({**_load(), place: _digest(content)})


def distrust(path: Path) -> bool:
    """Take that back; False when there was nothing to take back."""
    place = _place(path)
    if place not in _load():  # without a lock, which would make a folder for nothing
        return False
    with locked(_file()):
        known = _load()
        found = known.pop(place, None) is not None
        if found:
            _store(known)
    return found


def _file() -> Path:
    return environment.config_dir() / _FILE_NAME


def _place(path: Path) -> str:
    # A link to a trusted file is not that file: the relative paths in it would mean others.
    return str(path.parent.resolve() / path.name)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _load() -> dict[str, str]:
    try:
        loaded = json.loads(_file().read_text("utf-8"))
    except (OSError, ValueError):
        loaded = None
    return loaded if isinstance(loaded, dict) else {}  # what cannot be read vouches for nothing


def _store(known: dict[str, str]) -> None:
    write_private(_file(), json.dumps(known, indent=2, sort_keys=True) + "\n")
