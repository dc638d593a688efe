"""The formats of files that plugins register, as data: worker processes get a copy."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A format of files. `read` and `opens` are functions as "package.module:name".

    A file is of this format if its whole suffix matches the regular expression `suffixes`, its first bytes match
    `magic`, and `opens` says so, as far as they are given. `folder` has the module of a plugin that is not installed.
    `version` is that of the plugin, "" for rqa's own: files are read again when it changes.
    """

    name: str
    read: str
    suffixes: str = ""
    magic: bytes = b""
    opens: str = ""
    folder: str = ""
    version: str = ""

    def has_suffix(self, suffix: str) -> bool:
        """Return whether files with that suffix, in lower case and without its dot, are of this format."""
        return bool(self.suffixes) and re.fullmatch(self.suffixes, suffix) is not None

    def loaded(self, target: str) -> Callable[..., Any]:
        """Import a function of the plugin that is named as "package.module:name"."""
        if self.folder and self.folder not in sys.path:
            sys.path.append(self.folder)
        module, _, name = target.partition(":")
        found: Callable[..., Any] = getattr(importlib.import_module(module), name)
        return found
