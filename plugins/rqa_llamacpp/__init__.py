"""A reader that runs llama.cpp in this process, and `rqa models`, which fetches models for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robust_qa import hookimpl

if TYPE_CHECKING:
    import click

    from robust_qa import Registry


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Offer the reader `llamacpp`."""
    from .reader import LlamaCpp

    registry.reader(
        "llamacpp",
        LlamaCpp,
        summary="a GGUF language model in this process",
        advice="`rqa models pull qwen2.5-1.5b` gets a language model for this machine.",
    )


@hookimpl
def rqa_commands(cli: click.Group) -> None:
    """Offer `rqa models`."""
    from .commands import models

    cli.add_command(models)
