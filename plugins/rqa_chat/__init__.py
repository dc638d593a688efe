"""`rqa chat` is a conversation in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robust_qa import hookimpl

if TYPE_CHECKING:
    import click


@hookimpl
def rqa_commands(cli: click.Group) -> None:
    """Add `rqa chat`."""
    from .command import chat

    cli.add_command(chat)
