"""Reader `llamacpp`: runs llama.cpp in this process. `rqa models` downloads models for it."""

from __future__ import annotations

from robust_qa import Registry, hookimpl


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.reader("llamacpp", "rqa_llamacpp.reader:LlamaCpp", summary="a GGUF language model in this process")
    registry.command(
        "models",
        "rqa_llamacpp.commands:models",
        summary="List and download models for the reader llamacpp.",
        section="Set up",
    )
