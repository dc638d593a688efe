"""Click groups whose commands are imported when they run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from .verbosity import accept_verbosity

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
