"""`rqa completion`: print the shell's completion script."""

from __future__ import annotations

from robust_qa import Registry, hookimpl


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the command."""
    registry.command(
        "completion", "rqa_completion.command:command", section="Set up", summary="Print the shell's completion script."
    )
