"""Command groups that several plugins contribute to, such as `rqa train`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..host.loading import Host


class SharedGroup(click.Group):
    """A group of commands of several plugins: the host puts those of the same name together."""


def command_group(cli: click.Group, name: str, help: str) -> click.Group:
    """The group `rqa NAME`, for a plugin to add its commands to in `rqa_commands(cli)`.

    Other plugins may ask for the same group; the `help` of the first stands. A command whose name another plugin's
    command has in the group is left out, and the user is told.
    """
    group = cli.commands.get(name)
    if not isinstance(group, SharedGroup):
        group = SharedGroup(name, help=help)
        cli.add_command(group)
    return group


def add_plugin_commands(cli: click.Group, host: Host) -> list[str]:
    """Let the plugins add commands to `cli`. Returns a line for each command that is left out.

    A command of `cli` is never replaced. A plugin whose commands fail keeps its components.
    """

    def add(call: Callable[..., Any]) -> list[str]:
        theirs = click.Group()
        call(cli=theirs)
        return _merge(theirs, cli)

    return host.call_each("rqa_commands", "commands", add)


def _merge(theirs: click.Group, cli: click.Group, group: str = "") -> list[str]:
    """Add the commands of `theirs` to `cli`; why some are left out. Shared groups of one name become one."""
    reasons = []
    for name, command in theirs.commands.items():
        present = cli.commands.get(name)
        if present is None:
            cli.add_command(command, name)
        elif isinstance(present, SharedGroup) and isinstance(command, SharedGroup):
            reasons += _merge(command, present, f"{name} ")
        else:
            reasons.append(f"its command {group + name!r} has a name that is taken")
    return reasons
