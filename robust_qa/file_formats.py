"""The formats of files that plugins read, as data: worker processes get a copy."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

FORMATS: list[FileFormat] = []
"""What the loaded plugins registered."""


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A format of text files. `reader` and `sniff` are functions as "package.module:name".

    It is that of a file whose whole suffix matches the regular expression `suffixes` ("": one that no format has), and
    whose first characters `sniff` accepts, if there is one. `folder` has the module of a plugin that is not installed.
    `version` is that of the plugin: files are read again when it changes.
    """

    name: str
    reader: str
    suffixes: str = ""
    sniff: str = ""
    folder: str = ""
    version: str = ""

    def has_suffix(self, suffix: str) -> bool:
        """Return whether files with that suffix, in lower case and without its dot, are of this format."""
        return bool(self.suffixes) and re.fullmatch(self.suffixes, suffix) is not None

    def accepts(self, text: str) -> bool:
        """Return whether `text` begins as a file of this format does."""
        return not self.sniff or bool(self.loaded(self.sniff)(text))

    def loaded(self, target: str) -> Callable[..., Any]:
        """Import a function of the plugin that is named as "package.module:name"."""
        if self.folder and self.folder not in sys.path:
            sys.path.append(self.folder)
        module, _, name = target.partition(":")
        found: Callable[..., Any] = getattr(importlib.import_module(module), name)
        return found


def foreign_formats() -> list[FileFormat]:
    """Return the formats that do not come with rqa, which have versions of their own."""
    return [each for each in FORMATS if each.version]
