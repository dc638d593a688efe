"""Click groups whose commands are imported when they run, with -q and -v after every command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from .run import Run

if TYPE_CHECKING:
    from ..host.loading import Host
    from ..host.registry import Registered


class LazyGroup(click.Group):
    """A group of registered commands. Its help lists their summaries and imports none of them."""

    registered: Mapping[str, Registered]

    @classmethod
    def of_plugins(cls, name: str, host: Host) -> LazyGroup:
        """Return the group `name` with the commands that plugins registered in it."""
        group = cls(name, help=host.groups[name])
        prefix = f"{name} "
        group.registered = {
            each.removeprefix(prefix): command for each, command in host.commands.items() if each.startswith(prefix)
        }
        return group

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, sorted."""
        return sorted(self.registered)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command of that name. None if there is none."""
        found = self.registered.get(cmd_name)
        if found is None:
            return None
        command: click.Command = found.object
        accept_verbosity(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.registered[name].summary) for name in self.list_commands(ctx)])


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
