"""`rqa mcp` gives agents tools to ask, search, check and list documents, over the Model Context Protocol."""

from __future__ import annotations

from robust_qa import Registry, hookimpl


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.command(
        "mcp", "rqa_mcp.command:mcp", section="Serve", summary="Give agents tools over the Model Context Protocol."
    )
