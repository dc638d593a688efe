"""`rqa check` compares each sentence of an answer with passages: supported, contradicted or not found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robust_qa import hookimpl

from .checking import Checked, check_answer, check_sentences

if TYPE_CHECKING:
    import click

__all__ = ["Checked", "check_answer", "check_sentences"]


@hookimpl
def rqa_commands(cli: click.Group) -> None:
    """Add `rqa check`."""
    from .command import check

    cli.add_command(check)
