"""`rqa lint` checks documents: disagreements, near-duplicates, hidden text and instructions aimed at models."""

from __future__ import annotations

from robust_qa import Registry, hookimpl


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.command(
        "lint",
        "rqa_lint.command:lint",
        summary="Find disagreements, duplicates and hidden text in documents.",
        section="Documents",
    )
