"""Keys: named in the configuration, kept in the environment or a key file, revealed to one host each."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from .errors import ConfigError, MissingError


@dataclass(frozen=True, slots=True)
class Key:
    """A stored key, by name. An option of this type is written as the key's name: `key = "openai"`.

    `host` is the one host the key was stored for, None when it was stored for any. A `confined` key was named
    by a configuration that nobody vouched for, and goes to its own host only.
    """

    name: str
    secret: str = field(default="", repr=False)
    host: str | None = None
    confined: bool = False

    def reveal(self, url: str) -> str:
        """The secret, to be sent to `url`.

        Raises MissingError when no such key is stored, ConfigError when it was stored for another host.
        """
        host = urlsplit(url).hostname or ""
        if not self.secret:
            raise MissingError(
                f"No key named {self.name!r} is stored, and {url} is to be called with it.",
                hint=f"Run `rqa keys set {self.name} --host {host}`.",
            )
        if self.host is None and not self.confined:
            return self.secret
        if self.host != host:
            bound = f"is stored for {self.host}" if self.host else "is not bound to a host"
            raise ConfigError(
                f"The key {self.name!r} {bound}, and the configuration would send it to {host}.",
                hint=f"If that is what you want, run `rqa keys set {self.name} --host {host}`.",
            )
        return self.secret
