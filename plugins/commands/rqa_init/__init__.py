"""`rqa init`: write a starter configuration."""

from __future__ import annotations

from robust_qa import Registry, hookimpl


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the command."""
    registry.command("init", "rqa_init.command:command", section="Set up", summary="Write a starter configuration.")
