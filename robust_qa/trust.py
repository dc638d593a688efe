"""Which found configuration files the user vouched for: by path and content, so that a changed file asks again."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from . import environment
from .files import write_private

_FILE_NAME = "trusted.json"


def is_trusted(path: Path) -> bool:
    """Whether the user has vouched for the file as it is now."""
    return _load().get(str(path.resolve())) == _digest(path)


def trust(path: Path) -> None:
    """Vouch for the file as it is now."""
    _store({**_load(), str(path.resolve()): _digest(path)})


def distrust(path: Path) -> bool:
    """Take that back; False when there was nothing to take back."""
    known = _load()
    found = known.pop(str(path.resolve()), None) is not None
    if found:
        _store(known)
    return found


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _load() -> dict[str, str]:
    try:
        loaded: dict[str, str] = json.loads((environment.config_dir() / _FILE_NAME).read_text("utf-8"))
    except (OSError, ValueError):
        return {}  # nothing readable vouches for nothing
    return loaded


def _store(known: dict[str, str]) -> None:
    write_private(environment.config_dir() / _FILE_NAME, json.dumps(known, indent=2, sort_keys=True) + "\n")
