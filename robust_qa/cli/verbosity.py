"""Accept -q and -v after the command as well as before it."""

from __future__ import annotations

import click

from .run import Run


class VerbosityOption(click.Option):
    """An option that the host adds to every command. The class distinguishes it from the command's own options."""


def accept_verbosity(command: click.Command) -> None:
    """Add -v and -q to `command` and its subcommands, unless they use these flags themselves."""
    if not any(isinstance(param, VerbosityOption) for param in command.params):
        taken = {flag for param in command.params for flag in (*param.opts, *param.secondary_opts)}
        for name, step, help in (
            ("verbose", 1, "Print more messages on stderr."),
            ("quiet", -1, "Print fewer messages on stderr."),
        ):
            if flags := [flag for flag in (f"-{name[0]}", f"--{name}") if flag not in taken]:
                command.params.append(_option(f"rqa_{name}", flags, step, help))
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            accept_verbosity(inner)


def _option(name: str, flags: list[str], step: int, help: str) -> VerbosityOption:
    def change(ctx: click.Context, _: click.Parameter, count: int) -> None:
        if run := ctx.find_object(Run):
            run.verbosity += step * count
            if not isinstance(ctx.command, click.Group):  # a subcommand may still have its own -q
                run.release()

    # Eager, so that -q also silences messages during parsing.
    return VerbosityOption([*flags, name], count=True, expose_value=False, is_eager=True, callback=change, help=help)
