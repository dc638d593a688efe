"""The table [trust]: how much the user trusts the sources of passages."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import Annotated
from urllib.parse import urlsplit

from msgspec import Meta

from ..types import Passage
from .layers import Config
from .options import convert
from .values import absolute

TABLE = "trust"
Weight = Annotated[float, Meta(ge=0)]


@dataclass(frozen=True, slots=True)
class SourceTrust:
    """Weights of passages, from the configuration alone. Others have the weight 1.

    `patterns` have wildcards and come first, `files` are files and folders, `hosts` include their subdomains.
    The longest that matches counts.
    """

    files: Mapping[Path, float] = field(default_factory=dict)
    hosts: Mapping[str, float] = field(default_factory=dict)
    patterns: Mapping[str, float] = field(default_factory=dict)

    def weight(self, passage: Passage) -> float:
        """Return the weight of a passage.

        A row of a file may name any URL as its source, so a URL cannot raise the weight of a file.
        """
        if passage.origin == "memory":
            return 1.0
        source = self._matching(passage.source)
        if not passage.file:
            return 1.0 if source is None else source
        file = self._matching(passage.file)
        weight = 1.0 if file is None else file
        return weight if source is None or "://" not in passage.source else min(weight, source)

    def _matching(self, source: str) -> float | None:
        patterns = {pattern: weight for pattern, weight in self.patterns.items() if _fits(source, pattern)}
        if patterns:
            return patterns[max(patterns, key=len)]
        if "://" in source:
            host = _host(source)
            parents = [host.split(".", n)[-1] for n in range(host.count(".") + 1)]  # the longest first
            return next((self.hosts[name] for name in parents if name in self.hosts), None)
        path = Path(os.path.abspath(source))  # noqa: PTH100
        return next((self.files[at] for at in (path, *path.parents) if source and at in self.files), None)


def build(config: Config) -> SourceTrust:
    """Return the weights in `config`. Raises ConfigError if one is not a number of 0 or more.

    An entry with "*" or "?" is a pattern, one with "/" or a leading "." or "~" a file or folder, any other a host.
    """
    files: dict[Path, float] = {}
    hosts: dict[str, float] = {}
    patterns: dict[str, float] = {}
    for dotted, value in config.leaves():
        table, _, entry = dotted.partition(".")
        if table != TABLE:
            continue
        weight: float = convert(value, Weight, dotted)
        if set(entry) & set("*?") or "://" in entry:
            patterns[entry] = weight
        elif "/" in entry or entry.startswith((".", "~")):
            files[Path(os.path.normpath(absolute(entry, value.layer.folder)))] = weight
        else:
            hosts[entry.lower().removeprefix("www.")] = weight
    return SourceTrust(files, hosts, patterns)


def _fits(source: str, pattern: str) -> bool:
    return fnmatchcase(source, pattern) or ("://" not in source and PurePath(source).match(pattern))


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
