"""Plugins that are a Python file, or a package's folder, rather than an installed distribution."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import sys
from contextlib import suppress
from importlib.metadata import Distribution
from pathlib import Path
from types import ModuleType

from .errors import PluginError


def import_file(path: Path) -> ModuleType:
    """The module in the file, or in the folder's __init__.py."""
    file = path / "__init__.py" if path.is_dir() else path
    if not file.is_file():
        raise PluginError(f"there is no file {file}")
    name = f"rqa_plugin_{re.sub(r'[^a-zA-Z0-9_]', '_', path.stem)}"
    while (other := sys.modules.get(name)) is not None and other.__file__ != str(file):
        name += "_"  # a file of the same name in another folder
    spec = importlib.util.spec_from_file_location(
        name, file, submodule_search_locations=[str(path)] if path.is_dir() else None
    )
    if spec is None or spec.loader is None:
        raise PluginError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up while it is being executed
    try:
        spec.loader.exec_module(module)
    except BaseException:  # also when it exits: a half-run module must not be found
        del sys.modules[name]
        raise
    return module


def is_editable(distribution: Distribution) -> bool:
    """Whether it was installed with `pip install -e`: its code changes, and its version stays (PEP 610)."""
    return '"editable": true' in (distribution.read_text("direct_url.json") or "")


def content_digest(path: Path) -> str:
    """What stands for a version where nobody gave one: cached calls of other code are not this plugin's."""
    digest = hashlib.sha256()
    for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
        with suppress(OSError):  # importing it says what is wrong
            digest.update(file.read_bytes())
    return digest.hexdigest()[:12]
