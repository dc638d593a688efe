"""Packages that import each of their public names when it is first used."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

_EXPORT = re.compile(r"^ *from (\.[\w.]*) import (\w+) as \2$", re.MULTILINE)


def lazy(package: str) -> tuple[Callable[[str], Any], list[str]]:
    """Return `__getattr__` and `__all__` of a package, whose imports `from .module import name as name` are its names.

    They stand under `if TYPE_CHECKING:`, where type checkers and editors find them.
    """
    source = sys.modules[package].__spec__.loader.get_source(package)  # type: ignore[union-attr]
    modules = {name: module for module, name in _EXPORT.findall(source)}

    def attribute(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(modules[name], package), name)
        setattr(sys.modules[package], name, found)
        return found

    return attribute, [*modules]
