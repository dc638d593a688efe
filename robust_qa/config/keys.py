"""Keys: named in the configuration, kept in the environment or a key file, revealed to one server each."""

from __future__ import annotations

import os
import re
import shlex
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BusyError, ConfigError, InputError, MissingError
from . import environment
from .files import locked, write_private

if TYPE_CHECKING:
    from urllib.parse import SplitResult

_FILE_NAME = "keys.json"
_PORTS = {"http": 80, "https": 443}


class Key:
    """A stored key, by name. An option of this type is written as the key's name: `key = "openai"`.

    `host` is the one server that may get the key, by scheme, host and port: "https://api.openai.com". None: any.
    A host alone ("api.openai.com") is an entry of an earlier version. The first `reveal` binds it to scheme and port.
    A `confined` key was named by an untrusted configuration, and goes to a bound server only.
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

        Raises MissingError when no such key is stored, ConfigError when it was stored for another server.
        """
        parts = _split(url)
        host = parts.hostname or ""
        server = origin(url)
        command = f"rqa keys set {self.name} --host {shlex.quote(server or host)}"
        if not self._secret:
            raise MissingError(
                f"No key named {self.name!r} is stored, and {url} is to be called with it.",
                hint=f"Run `{command}`, or set {variable(self.name)}.",
            )
        if self.confined and parts.scheme != "https" and not is_loopback(host):
            raise ConfigError(
                f"The key {self.name!r} would go to {host} unencrypted, as a file that nobody vouched for asks.",
                hint="Use an https URL, or vouch for the file: `rqa config trust`.",
            )
        if self.host is None and not self.confined:
            return self._secret
        if self.host == host and server:
            if self.confined:
                raise ConfigError(
                    f"The key {self.name!r} was stored for {host} without a port, so an untrusted file cannot use it.",
                    hint=f"Store it again: `{command}`.",
                )
            self.host = _bind(self.name, host, server)
        if self.host == server and server:
            return self._secret
        bound = f"is stored for {self.host}" if self.host else "is bound to no host"
        raise ConfigError(
            f"The key {self.name!r} {bound}, and the configuration would send it to {server or host}.",
            hint=f"If that is what you want, run `{command}`.",
        )


def check_name(name: str) -> str:
    """`name`, if it is a key's name. A ConfigError never repeats what looks like the key itself."""
    from .redaction import is_key_name

    if not is_key_name(name):
        raise ConfigError(
            "A key is written by its name, never by itself; what is given does not look like a name.",
            hint="Store it with `rqa keys set NAME --host HOST`, and write NAME.",
        )
    return name


def check_secret(text: str) -> str:
    """`text` without the space around it, if it can be a key. The InputError for another does not repeat it."""
    secret = text.strip().removeprefix("\ufeff")
    if not secret:
        raise InputError("The key is empty.", hint="Give it on stdin: rqa keys set NAME < FILE")
    if not secret.isascii() or not secret.isprintable() or " " in secret:
        raise InputError("That is no key: it holds spaces, or characters that no HTTP header can carry.")
    return secret


def check_host(host: str) -> str:
    """The origin that a host name, host:port or URL names. ConfigError when it names none.

    Without a scheme it is https, and http for a loopback host, which needs its port.
    """
    url = host if "//" in host else f"//{host}"
    try:
        parts = _split(url)
        name, port = parts.hostname or "", parts.port
    except ValueError:
        name, port = "", None
    if name and not parts.scheme:
        if is_loopback(name) and port is None:
            raise ConfigError(
                f"{host!r} names no port, and any program here may listen on another one.",
                hint="Add the port of the server, as in `--host localhost:11434`.",
            )
        url = f"{'http' if is_loopback(name) else 'https'}:{url}"
    found = origin(url)
    if not found or not name.isprintable() or " " in name:
        raise ConfigError(f"{host!r} names no host.", hint="Write it as in api.openai.com, or localhost:11434.")
    return found


def origin(url: str) -> str:
    """Scheme, host and port of an http or https URL, without a default port; "" when `url` is none."""
    try:
        parts = _split(url)
        name, port = parts.hostname, parts.port
    except ValueError:
        return ""
    if not name or parts.scheme not in _PORTS:
        return ""
    place = f"[{name}]" if ":" in name else name
    return f"{parts.scheme}://{place}" + (f":{port}" if port not in (None, _PORTS[parts.scheme]) else "")


def _split(url: str) -> SplitResult:
    from urllib.parse import urlsplit  # here, because every start imports this module

    return urlsplit(url)


def is_loopback(host: str) -> bool:
    """Whether `host` is this machine, by its name or address. A request to it goes through no proxy."""
    import ipaddress

    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


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
    import json

    path = key_file()
    try:
        mode = path.stat().st_mode
        content = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(
            f"The key file {path} cannot be read: {error.strerror}.", hint=environment.elsewhere(path)
        ) from error
    if stat.S_IMODE(mode) & 0o077:
        raise ConfigError(
            f"The key file {path} can be read by others (mode {stat.S_IMODE(mode):04o}).",
            hint=f"Run `chmod 600 {path}`, and replace the keys if anybody else uses this machine.",
        )
    try:
        rows = json.loads(content)
        return {name: Key(name, str(row["secret"]), row.get("host")) for name, row in rows.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        # Not chained: the cause holds the file's text.
        raise ConfigError(f"The key file {path} is damaged.", hint="Remove it, and store the keys again.") from None


def store(key: Key) -> None:
    """Put `key` into the key file, in place of one of the same name."""
    check_name(key.name)
    with locked(key_file()):
        _write({**stored_keys(), key.name: key})


def remove(name: str) -> bool:
    """Take a key out of the key file; False when it is not there."""
    if name not in stored_keys():  # without a lock, which would make a folder for nothing
        return False
    with locked(key_file()):
        keys = stored_keys()
        found = keys.pop(name, None) is not None
        if found:
            _write(keys)
    return found


def _bind(name: str, host: str, server: str) -> str:
    """Bind the stored key `name`, if it is still for all ports of `host`, to `server`. Returns its server."""
    if name not in stored_keys():
        return server
    try:
        with locked(key_file()):
            keys = stored_keys()
            found = keys.get(name)
            if found is None or found.host is None:
                return server
            if found.host == host:
                found.host = server
                _write(keys)
            return found.host
    except (OSError, BusyError):  # a folder that cannot be written: the key stays bound as long as this process runs
        return server


def key_file() -> Path:
    """The key file, of mode 0600."""
    return environment.config_dir() / _FILE_NAME


def _write(keys: dict[str, Key]) -> None:
    import json

    rows = {key.name: {"secret": key._secret, "host": key.host} for key in keys.values()}
    write_private(key_file(), json.dumps(rows, indent=2, sort_keys=True) + "\n")
