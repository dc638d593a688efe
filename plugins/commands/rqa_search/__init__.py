"""`rqa search` prints the passages that a question would be answered from. It loads no reader."""

from __future__ import annotations

from robust_qa import Registry, hookimpl


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.command("search", "rqa_search.command:search", section="Ask", summary="Find passages, without a reader.")
