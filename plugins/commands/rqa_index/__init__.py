"""`rqa index`: index documents for retrieval."""

from __future__ import annotations

from robust_qa import Registry, hookimpl


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the command."""
    registry.command(
        "index", "rqa_index.command:command", section="Documents", summary="Index documents for retrieval."
    )
