"""Commands of plugins, and command groups that plugins share, such as `rqa train`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..host.loading import Host


class SharedGroup(click.Group):
    """A group that several plugins add commands to. The host merges groups of the same name."""


def command_group(cli: click.Group, name: str, help: str) -> click.Group:
    """Return the group `rqa NAME`, to add commands to in `rqa_commands(cli)`.

    Plugins can share a group; the `help` of the first one is used. The first command of a name wins, and rqa
    warns about the others.
    """
    group = cli.commands.get(name)
    if not isinstance(group, SharedGroup):
        group = SharedGroup(name, help=help)
        cli.add_command(group)
    return group


def add_plugin_commands(cli: click.Group, host: Host) -> list[str]:
    """Add the plugins' commands to `cli`. Return one warning for each command left out.

    Never replaces a command of `cli`. If a plugin's commands fail, its components stay available.
    """

    def add(call: Callable[..., Any]) -> list[str]:
        theirs = click.Group()
        call(cli=theirs)
        return _merge(theirs, cli)

    return host.call_each("rqa_commands", "commands", add)


def _merge(theirs: click.Group, cli: click.Group, group: str = "") -> list[str]:
    """Add the commands of `theirs` to `cli` and merge shared groups. Return one reason for each command left out."""
    reasons = []
    for name, command in theirs.commands.items():
        present = cli.commands.get(name)
        if present is None:
            cli.add_command(command, name)
        elif isinstance(present, SharedGroup) and isinstance(command, SharedGroup):
            reasons += _merge(command, present, f"{name} ")
        else:
            reasons.append(f"the command name {group + name!r} is already taken")
    return reasons
