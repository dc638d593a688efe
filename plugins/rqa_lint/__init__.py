"""`rqa lint` checks documents: disagreements, near-duplicates, hidden text and instructions aimed at models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robust_qa import hookimpl

if TYPE_CHECKING:
    import click


@hookimpl
def rqa_commands(cli: click.Group) -> None:
    """Add `rqa lint`."""
    from .command import lint

    cli.add_command(lint)
