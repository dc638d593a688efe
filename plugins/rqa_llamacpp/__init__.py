"""A reader that runs llama.cpp in this process, and `rqa models`, which fetches models for it."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from robust_qa import hookimpl
from robust_qa.kit import install_hint

if TYPE_CHECKING:
    import click

    from robust_qa import Registry

# Of catalogue.py. Qwen3.5 of that size would compute a shared prompt head anew: its layers are recurrent.
_MODEL = "qwen3-4b-2507"


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Offer the reader `llamacpp`."""
    from .reader import LlamaCpp

    registry.reader(
        "llamacpp",
        LlamaCpp,
        summary="a GGUF language model in this process",
        advice=_advice(),
    )


def _advice() -> str:
    """The steps to a language model, each as it is typed."""
    installed = find_spec("llama_cpp") and find_spec("huggingface_hub")
    first = "" if installed else f"`{install_hint('llama')}`, "
    return (
        f"For a language model on this machine: {first}`rqa models pull {_MODEL}`, and ask with "
        f"`--reader llamacpp --option reader.llamacpp.model={_MODEL}`."
    )


@hookimpl
def rqa_commands(cli: click.Group) -> None:
    """Offer `rqa models`."""
    from .commands import models

    cli.add_command(models)
