"""`rqa batch`: many questions, one output line each."""

from __future__ import annotations

from robust_qa import Registry, hookimpl


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the command."""
    registry.command(
        "batch", "rqa_batch.command:command", section="Ask", summary="Answer many questions, one JSON line each."
    )
