"""The stored API keys: in the environment or a key file."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path

from ..errors import ConfigError, InputError
from . import environment
from .files import atomic_write, locked
from .key import Key, is_loopback, origin, split, variable

_FILE_NAME = "keys.json"
_CONVENTIONAL = "_API_KEY"  # the end of variables that hold a key
_SHORTEST = 8  # characters of a key: local servers take keys such as "none", which are words of texts too


_from_driver: dict[str, Key] | None = None  # the keys of a worker process; None: this machine's


def check_name(name: str) -> str:
    """Return `name` if it is a valid key name. Raises ConfigError, which does not repeat a possible secret."""
    from .values import is_key_name

    if not is_key_name(name):
        raise ConfigError(
            "Invalid key name. Write the name of a stored key, never the key itself.",
            hint="Store the key with `rqa keys set NAME --host HOST` and write NAME.",
        )
    return name


def check_secret(text: str) -> str:
    """Return `text` without surrounding space if it can be a key. Raises InputError, which does not repeat it."""
    secret = text.strip().removeprefix("\ufeff")
    if not secret:
        raise InputError("The key is empty.", hint="Give it on stdin: rqa keys set NAME < FILE")
    if not secret.isascii() or not secret.isprintable() or " " in secret:
        raise InputError("Invalid key: it contains spaces or characters that HTTP headers cannot contain.")
    return secret


def check_host(host: str) -> str:
    """Return the origin of a host name, host:port or URL. Raises ConfigError if it is invalid.

    The default scheme is https. For a loopback host it is http, and the port is required.
    """
    url = host if "//" in host else f"//{host}"
    try:
        parts = split(url)
        name, port = parts.hostname or "", parts.port
    except ValueError:
        name, port = "", None
    if name and not parts.scheme:
        if is_loopback(name) and port is None:
            raise ConfigError(
                f"{host!r} has no port.",
                hint="Add the port of the server, for example `--host localhost:11434`.",
            )
        url = f"{'http' if is_loopback(name) else 'https'}:{url}"
    found = origin(url)
    if not found or not name.isprintable() or " " in name:
        raise ConfigError(f"{host!r} is not a valid host.", hint="Examples: api.openai.com, localhost:11434.")
    return found


def find(name: str) -> Key:
    """Return the key `name` from RQA_KEY_<NAME>, the key file or <NAME>_API_KEY, without secret if unknown."""
    check_name(name)
    stored = stored_keys().get(name, Key(name))
    if _from_driver is not None:
        return Key(name, stored._secret, stored.host)
    conventional = re.sub(r"[^A-Z0-9]", "_", name.upper()) + _CONVENTIONAL
    secret = os.environ.get(variable(name)) or stored._secret or os.environ.get(conventional, "")
    return Key(name, secret.strip(), stored.host)


def for_worker(used: Iterable[Key]) -> dict[str, Key]:
    """Return the keys that a worker process needs: the `used` ones, and the hosts of the others without secrets."""
    hosts = {name: Key(name, host=key.host) for name, key in stored_keys().items()}
    return hosts | {key.name: Key(key.name, key._secret, key.host) for key in used}


def use(keys: dict[str, Key]) -> None:
    """Use these keys in this process, and no key of this machine."""
    global _from_driver  # noqa: PLW0603  (a worker process has one configuration)
    _from_driver = keys


def stored_keys() -> dict[str, Key]:
    """Return the keys of the key file by name. Raises ConfigError if other users can read the file."""
    import json

    if _from_driver is not None:
        return dict(_from_driver)
    path = key_file()
    try:
        mode = path.stat().st_mode
        content = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(
            f"Cannot read the key file {path}: {error.strerror}.", hint=environment.elsewhere(path)
        ) from error
    if stat.S_IMODE(mode) & 0o077:
        raise ConfigError(
            f"Other users can read the key file {path} (mode {stat.S_IMODE(mode):04o}).",
            hint=f"Run `chmod 600 {path}`. Replace the keys if other people use this machine.",
        )
    try:
        rows = json.loads(content)
        return {name: Key(name, str(row["secret"]), row.get("host")) for name, row in rows.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        # Not chained, because the cause contains the file's text.
        raise ConfigError(
            f"The key file {path} is damaged, so no key in it can be used.",
            hint="Delete it, and store your keys again with `rqa keys set NAME --host HOST`.",
        ) from None


def without_keys(encoded: str) -> str:
    """Return JSON with all keys hidden, those that are stored and those in the environment.

    Raises ConfigError if the key file cannot be read.
    """
    import json

    from .values import HIDDEN

    secrets = {key._secret for key in stored_keys().values()}
    for name, value in os.environ.items():
        if name.startswith(environment.KEY_PREFIX) or name.endswith(_CONVENTIONAL):
            secrets.add(value.strip())
    for secret in secrets:
        if len(secret) >= _SHORTEST:
            encoded = encoded.replace(json.dumps(secret)[1:-1], HIDDEN)
    return encoded


def store(key: Key) -> None:
    """Add `key` to the key file. Replaces a key of the same name."""
    check_name(key.name)
    with locked(key_file()):
        _write({**stored_keys(), key.name: key})


def remove(name: str) -> bool:
    """Remove a key from the key file. Return False if it is not there."""
    with locked(key_file()):
        keys = stored_keys()
        found = keys.pop(name, None) is not None
        if found:
            _write(keys)
    return found


def key_file() -> Path:
    """Return the path of the key file."""
    return environment.config_dir() / _FILE_NAME


def _write(keys: dict[str, Key]) -> None:
    import json

    rows = {key.name: {"secret": key._secret, "host": key.host} for key in keys.values()}
    with atomic_write(key_file(), 0o600) as file:
        file.write(json.dumps(rows, indent=2, sort_keys=True).encode() + b"\n")
