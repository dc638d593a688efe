"""Which found configuration files the user vouched for: by path and content, so that a changed file asks again."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from . import environment
from .files import locked, write_private

_FILE_NAME = "trusted.json"


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
