"""`rqa serve` answers over HTTP, in the format of OpenAI's chat completions."""

from __future__ import annotations

from robust_qa import Registry, hookimpl


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.command(
        "serve",
        "rqa_serve.command:serve",
        section="Serve",
        summary="Answer questions over HTTP, as OpenAI's chat completions.",
    )
