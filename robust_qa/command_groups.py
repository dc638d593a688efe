"""Command groups that several plugins contribute to, such as `rqa train`."""

from __future__ import annotations

import click


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
