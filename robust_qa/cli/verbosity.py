"""-q and -v after the command, with the same effect as before it."""

from __future__ import annotations

import click

from .run import Run


class VerbosityOption(click.Option):
    """An option that the host adds to every command, so its class tells it from the command's own."""


def accept_verbosity(command: click.Command) -> None:
    """Add -v and -q to `command` and to the commands below it, except where it uses these flags itself."""
    if not any(isinstance(param, VerbosityOption) for param in command.params):
        taken = {flag for param in command.params for flag in (*param.opts, *param.secondary_opts)}
        for name, step, help in (("verbose", 1, "Say more on stderr."), ("quiet", -1, "Say less on stderr.")):
            if flags := [flag for flag in (f"-{name[0]}", f"--{name}") if flag not in taken]:
                command.params.append(_option(f"rqa_{name}", flags, step, help))
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            accept_verbosity(inner)


def _option(name: str, flags: list[str], step: int, help: str) -> VerbosityOption:
    def change(ctx: click.Context, _: click.Parameter, count: int) -> None:
        if run := ctx.find_object(Run):
            run.verbosity += step * count
            if not isinstance(ctx.command, click.Group):  # the command below it may be told -q, too
                run.release()

    # Eager: -q also silences what other options say while they are parsed.
    return VerbosityOption([*flags, name], count=True, expose_value=False, is_eager=True, callback=change, help=help)
