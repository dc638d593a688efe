"""Click groups whose commands are imported when they run, -q and -v after every command, and help in groups."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from .run import Run

if TYPE_CHECKING:
    from ..host.registry import Registered


_MANY = 12  # options that are shown in groups
_GROUPS = {
    "Search": {*"--retriever -k --docs --exclude --no-ignore --passages --in --type --since --title".split()},
    "Answer": {*"--strategy --reader --engine --option --no-cache --no-history --no-follow".split()},
    "Messages": {"--verbose", "--quiet", "--help"},
}


class Help(click.HelpFormatter):
    """Help with bold headings on a terminal, where many options are in groups: first those of the command alone."""

    def write_heading(self, heading: str) -> None:
        """Write a heading."""
        super().write_heading(click.style(heading, bold=True))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Write options, or commands, with what they do."""
        groups: dict[str, list[tuple[str, str]]] = {group: [] for group in ("", *_GROUPS)}
        for flags, help in (rows := [*rows]):
            found = (group for group, names in _GROUPS.items() if {*flags.replace(",", "").split()} & names)
            groups[next(found, "")].append((flags, help))
        many = groups[""] and len(rows) >= _MANY
        super().write_dl(groups.pop("") if many else rows, col_max, col_spacing)
        self.dedent()
        for group in filter(groups.get, groups if many else ()):
            with self.section(group):
                super().write_dl(groups[group], col_max, col_spacing)
        self.indent()


class OpenGroup(click.Group):
    """A group to which plugins add commands. They are imported when they run, and not for its help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, sorted."""
        return sorted({*super().list_commands(ctx), *self._registered(ctx)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name. None if there is none."""
        if (found := self._registered(ctx).get(cmd_name)) is None:
            return super().get_command(ctx, cmd_name)
        command: click.Command = found.object
        accept_verbosity(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands."""
        summaries = {name: each.get_short_help_str(formatter.width) for name, each in self.commands.items()}
        summaries |= {name: each.summary for name, each in self._registered(ctx).items()}
        if summaries:
            with formatter.section("Commands"):
                formatter.write_dl(sorted(summaries.items()))

    def _registered(self, ctx: click.Context) -> dict[str, Registered]:
        run, prefix = ctx.find_object(Run), f"{self.name} "
        commands = run.host.commands if run else {}
        return {name.removeprefix(prefix): each for name, each in commands.items() if name.startswith(prefix)}


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
