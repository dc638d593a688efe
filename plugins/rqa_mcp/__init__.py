"""`rqa mcp` gives agents the tools `ask`, `search` and those of plugins, over the Model Context Protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robust_qa import hookimpl

if TYPE_CHECKING:
    import click


@hookimpl
def rqa_commands(cli: click.Group) -> None:
    """Add `rqa mcp`."""
    from .command import mcp

    cli.add_command(mcp)
