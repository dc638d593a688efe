"""The keys of all options that `-O KEY=VALUE` can set, for shell completion."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from ..calls.cache import CacheSettings
from ..calls.limits import reserved
from ..config.defaults import Defaults
from ..types import KINDS
from .run import Run


def option_names(run: Run) -> list[str]:
    """Return the dotted keys of the options of the host and of all installed and configured components, sorted."""
    config = run.load_config()
    found = {
        f"{table}.{name}" for table, of in (("defaults", Defaults), ("cache", CacheSettings)) for name in _fields(of)
    }
    for kind in KINDS:
        installed = {registration.name: registration.options for registration in run.host.components(kind)}
        for name in {*installed, *config.names(kind)}:
            plugin = config.table(kind, name).values.get("plugin")
            options = installed.get(str(plugin.value) if plugin else name)
            found.update(f"{kind}.{name}.{option}" for option in {*_fields(options), *reserved(kind)})
    return sorted(found)


def _fields(options: type | None) -> Iterator[str]:
    """Yield the options of a dataclass that are no tables."""
    for field in dataclasses.fields(options) if options else ():
        if field.init and field.default_factory is not dict:
            yield field.name
