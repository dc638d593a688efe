"""`rqa plugins new` and `rqa plugins check`, for authors of plugins."""

from __future__ import annotations

from robust_qa import Registry, hookimpl


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the commands in the host's group `plugins`."""
    registry.command("plugins new", "rqa_plugins.new:new", summary="Create a plugin project, with tests.")
    registry.command("plugins check", "rqa_plugins.check:check", summary="Check a component against its contract.")
