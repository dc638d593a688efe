"""Keys: named in the configuration, kept in the environment or a key file, revealed to one host each."""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path
from urllib.parse import urlsplit

from . import environment
from .errors import ConfigError, MissingError
from .files import write_private

_FILE_NAME = "keys.json"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,39}\Z")
_LOOKS_SECRET = re.compile(r"(sk|pk|rk|key|hf|gsk|xai)[-_]|AIza|ghp_|eyJ")


class Key:
    """A stored key, by name. An option of this type is written as the key's name: `key = "openai"`.

    `host` is the one host the key was stored for, None when it was stored for any. A `confined` key was named
    by a configuration that nobody vouched for, and goes to its own host only.
    """

    # No dataclass: what encodes or prints dataclasses by their fields must not find the secret.
    __slots__ = ("_secret", "confined", "host", "name")

    def __init__(self, name: str, secret: str = "", host: str | None = None, *, confined: bool = False) -> None:
        self.name = name
        self.host = host
        self.confined = confined
        self._secret = secret

    def __repr__(self) -> str:
        return f"Key({self.name!r})"

    def reveal(self, url: str) -> str:
        """The secret, to be sent to `url`.

        Raises MissingError when no such key is stored, ConfigError when it was stored for another host.
        """
        host = urlsplit(url).hostname or ""
        command = f"rqa keys set {self.name} --host {host}"
        if not self._secret:
            raise MissingError(
                f"No key named {self.name!r} is stored, and {url} is to be called with it.",
                hint=f"Run `{command}`, or set {variable(self.name)}.",
            )
        if self.host == host or (self.host is None and not self.confined):
            return self._secret
        bound = f"is stored for {self.host}" if self.host else "is bound to no host"
        raise ConfigError(
            f"The key {self.name!r} {bound}, and the configuration would send it to {host}.",
            hint=f"If that is what you want, run `{command}`.",
        )


def check_name(name: str) -> str:
    """`name`, if it is a key's name. A ConfigError never repeats what looks like the key itself."""
    if not _NAME.match(name) or _LOOKS_SECRET.match(name):
        raise ConfigError(
            "A key is written by its name, never by itself; what is given does not look like a name.",
            hint="Store it with `rqa keys set NAME --host HOST`, and write NAME.",
        )
    return name


def variable(name: str) -> str:
    """The environment variable that holds the key of that name."""
    return environment.KEY_PREFIX + re.sub(r"[^A-Z0-9]", "_", name.upper())


def find(name: str, *, confined: bool = False) -> Key:
    """The key of that name, from RQA_KEY_<NAME>, the key file, or <NAME>_API_KEY; without secret if unknown."""
    check_name(name)
    stored = stored_keys().get(name, Key(name))
    conventional = re.sub(r"[^A-Z0-9]", "_", name.upper()) + "_API_KEY"
    secret = os.environ.get(variable(name)) or stored._secret or os.environ.get(conventional, "")
    return Key(name, secret.strip(), stored.host, confined=confined)


def stored_keys() -> dict[str, Key]:
    """The keys of the key file, by name. ConfigError when others can read the file."""
    path = key_file()
    try:
        mode = path.stat().st_mode
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return {}
    if stat.S_IMODE(mode) & 0o077:
        raise ConfigError(
            f"The key file {path} can be read by others (mode {stat.S_IMODE(mode):04o}).",
            hint=f"Run `chmod 600 {path}`, and replace the keys if anybody else uses this machine.",
        )
    try:
        rows = json.loads(text)
        return {name: Key(name, row["secret"], row.get("host")) for name, row in rows.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"The key file {path} is damaged.", hint="Remove it, and store the keys again.") from error


def store(key: Key) -> None:
    """Put `key` into the key file, in place of one of the same name."""
    _write({**stored_keys(), check_name(key.name): key})


def remove(name: str) -> bool:
    """Take a key out of the key file; False when it is not there."""
    keys = stored_keys()
    found = keys.pop(name, None) is not None
    if found:
        _write(keys)
    return found


def key_file() -> Path:
    """The key file, of mode 0600."""
    return environment.config_dir() / _FILE_NAME


def _write(keys: dict[str, Key]) -> None:
    rows = {key.name: {"secret": key._secret, "host": key.host} for key in keys.values()}
    write_private(key_file(), json.dumps(rows, indent=2, sort_keys=True) + "\n")
