"""`rqa chat` is a conversation in the terminal."""

from __future__ import annotations

from robust_qa import Registry, hookimpl


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.command(
        "chat", "rqa_chat.command:chat", section="Ask", summary="Ask questions in a conversation, in the terminal."
    )
