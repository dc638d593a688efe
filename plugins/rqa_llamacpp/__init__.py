"""Reader `llamacpp`: runs llama.cpp in this process. `rqa models` downloads models for it."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from robust_qa import hookimpl
from robust_qa.kit import install_hint

if TYPE_CHECKING:
    import click

    from robust_qa import Registry

# From the catalogue in library.py. Qwen3.5 has recurrent layers, so it cannot reuse a shared prompt prefix.
_MODEL = "qwen3-4b-2507"


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the reader `llamacpp`."""
    from .reader import LlamaCpp

    registry.reader(
        "llamacpp",
        LlamaCpp,
        summary="a GGUF language model in this process",
        advice=_advice(),
    )


def _advice() -> str:
    """Return the commands to install and use a language model."""
    installed = find_spec("llama_cpp") and find_spec("huggingface_hub")
    first = "" if installed else f"`{install_hint('llama')}`, "
    return (
        f"To use a language model on this machine, run {first}`rqa models pull {_MODEL}`, and ask with "
        f"`--reader llamacpp --option reader.llamacpp.model={_MODEL}`."
    )


@hookimpl
def rqa_commands(cli: click.Group) -> None:
    """Add the command `rqa models`."""
    from .commands import models

    cli.add_command(models)
