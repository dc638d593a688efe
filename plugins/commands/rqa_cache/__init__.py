"""`rqa cache`: show or clear the cache of finished calls."""

from __future__ import annotations

from robust_qa import Registry, hookimpl


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the command."""
    registry.command(
        "cache", "rqa_cache.command:command", section="Set up", summary="Show or clear the cache of finished calls."
    )
