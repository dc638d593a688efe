"""`rqa serve` answers over HTTP, in the format of OpenAI's chat completions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robust_qa import hookimpl

if TYPE_CHECKING:
    import click


@hookimpl
def rqa_commands(cli: click.Group) -> None:
    """Add `rqa serve`."""
    from .command import serve

    cli.add_command(serve)
