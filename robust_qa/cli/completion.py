"""`rqa completion`: print the shell's completion script."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from ..config import environment


@click.command("completion", epilog="Example: rqa completion bash >> ~/.bashrc")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script for SHELL."""
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(ctx.find_root().command, {}, "rqa", environment.COMPLETE).source())
