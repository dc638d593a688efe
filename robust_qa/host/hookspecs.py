"""The hook that a plugin implements. See also rqa-plugin(7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from .registry import Registry

hookspec = pluggy.HookspecMarker("rqa")
hookimpl = pluggy.HookimplMarker("rqa")


class Hooks:
    """The hook specification for pluggy."""

    @hookspec
    def rqa_register(self, registry: Registry) -> None:
        """Register components, commands, metrics and tools, for example `registry.retriever(name, "module:Class")`.

        This hook runs at every start, so give classes by name or import heavy libraries inside them. The host calls
        a factory with an instance of its `Options` dataclass, or without arguments if it has none.
        """
