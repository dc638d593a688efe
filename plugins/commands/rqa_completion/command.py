"""`rqa completion`: print the shell's completion script."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

# After `KEY=` comes the value, not a space. fish knows that.
_NO_SPACE = {
    "bash": ("    return 0\n", "    [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null\n    return 0\n"),
    "zsh": ("compadd -U", "[[ $completions[1] == *= ]] && set -- -S '' || set --\n        compadd \"$@\" -U"),
}


@click.command("completion", epilog="Example: rqa completion bash >> ~/.bashrc")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script for SHELL."""
    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(ctx.find_root().command, {}, "rqa", "_RQA_COMPLETE").source()
    click.echo(script.replace(*_NO_SPACE.get(shell, ("", ""))))
