"""An API key: named in the configuration, and bound to one server."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from ..errors import ConfigError, MissingError
from . import environment

if TYPE_CHECKING:
    from urllib.parse import SplitResult

_PORTS = {"http": 80, "https": 443}


class Key:
    """A stored API key. In the configuration its value is the key's name: `key = "openai"`.

    `host` is the only server that may receive the key, for example "https://api.openai.com"; None allows any.
    """

    # Not a dataclass, so that generic encoders cannot print the secret.
    __slots__ = ("_secret", "host", "name")

    def __init__(self, name: str, secret: str = "", host: str | None = None) -> None:
        self.name = name
        self.host = host
        self._secret = secret

    def __repr__(self) -> str:
        return f"Key({self.name!r})"

    def reveal(self, url: str) -> str:
        """Return the secret for a request to `url`.

        Raises MissingError if the key is not stored, ConfigError if it is bound to another server.
        """
        parts = split(url)
        host = parts.hostname or ""
        server = origin(url)
        command = f"rqa keys set {self.name} --host {shlex.quote(server or host)}"
        if not self._secret:
            raise MissingError(
                f"The key {self.name!r} for {url} is not stored.",
                hint=f"Run `{command}` or set {variable(self.name)}.",
            )
        if self.host is None:
            return self._secret
        if self.host == server and server:
            return self._secret
        raise ConfigError(
            f"The key {self.name!r} is bound to {self.host}, so it is not sent to {server or host}.",
            hint=f"To allow it, run `{command}`.",
        )


def origin(url: str) -> str:
    """Return scheme, host and non-default port of an http or https URL, "" if `url` is invalid."""
    try:
        parts = split(url)
        name, port = parts.hostname, parts.port
    except ValueError:
        return ""
    if not name or parts.scheme not in _PORTS:
        return ""
    place = f"[{name}]" if ":" in name else name
    return f"{parts.scheme}://{place}" + (f":{port}" if port not in (None, _PORTS[parts.scheme]) else "")


def split(url: str) -> SplitResult:
    """Return the parts of a URL. Raises ValueError."""
    from urllib.parse import urlsplit  # not at the top, because every start imports this module

    return urlsplit(url)


def is_loopback(host: str) -> bool:
    """Return whether `host` is this machine, by name or address."""
    import ipaddress

    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def variable(name: str) -> str:
    """Return the environment variable for the key `name`."""
    return environment.KEY_PREFIX + re.sub(r"[^A-Z0-9]", "_", name.upper())
