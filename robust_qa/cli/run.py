"""State that the commands of one invocation share: plugins, configuration, messages on stderr."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..config import environment

if TYPE_CHECKING:
    from ..config.layers import Config
    from ..config.values import Layer
    from ..errors import RqaError
    from ..host.loading import Host
    from ..host.registry import Registry

_BREAKS = re.compile(r"(?<!\s)(?=[^\S\t\n]*+[\t\n])\s++")
_SILENT = 100  # times -q: no messages during shell completion


class Run:
    """The options before the command. `verbosity` is the number of -v minus the number of -q."""

    def __init__(
        self,
        *,
        config_file: Path | None = None,
        plugin_files: Sequence[Path] = (),
        verbosity: int = 0,
    ) -> None:
        self.config_file = config_file
        self.verbosity = verbosity
        self._plugin_files = plugin_files
        self._buffered: list[str] | None = None
        self._weakest: Layer | None = None
        self.problems: list[RqaError] | None = None
        """A list collects all configuration errors. None raises the first one."""

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> Run:
        """Create a Run from the group's parameters. Some are missing if --help is parsed before them."""
        quiet = _SILENT if environment.COMPLETE in os.environ else params.get("quiet") or 0
        return cls(
            config_file=params.get("config_file"),
            plugin_files=params.get("plugin_files") or (),
            verbosity=(params.get("verbose") or 0) - quiet,
        )

    @cached_property
    def host(self) -> Host:
        """Load the plugins once, and print their problems once."""
        from ..config import layers as config
        from ..host.loading import Host

        loaded = config.load(file=self.config_file, problems=self.problems)
        configured, refused = loaded.plugin_files(self.problems)
        for line in refused:
            self.say(line)
        host = Host.from_environment(files=[*configured, *self._plugin_files], own=_own)
        for line in host.troubles():
            self.say(line)
        if context := click.get_current_context(silent=True):
            host.command(context.find_root().invoked_subcommand or "")  # raises TakenError
        return host

    def load_config(self, overrides: Sequence[tuple[str, str]] = ()) -> Config:
        """Return the configuration with the command line's KEY=VALUE pairs on top."""
        from ..config import layers as config

        loaded = config.load(file=self.config_file, overrides=overrides, problems=self.problems)
        if self._weakest:
            loaded = config.Config([*loaded.layers, self._weakest])
        loaded.check_tables(self.host.tables, self.problems)
        if self.problems is None and loaded.overridden():
            loaded.check_names(self.host.names)
        return loaded

    def defaults_of(self, name: str, command: click.Command) -> dict[str, Any]:
        """Return the options that the table of a command sets. Raises ConfigError for one that it does not have."""
        from ..errors import ConfigError, did_you_mean

        if self.has_other_table(name):
            return {}
        table = self.load_config().of_command(name)
        known = {param.name for param in command.params}
        if unknown := [key for key in table if key not in known]:
            hint = did_you_mean(unknown[0], filter(None, known))
            raise ConfigError(f"[{name}] has no option `{unknown[0]}`; it sets options of `rqa {name}`.", hint=hint)
        context = click.Context(command, resilient_parsing=True)
        for param in command.params:
            try:
                if param.name in table:
                    param.type_cast_value(context, table[param.name])
            except (click.ClickException, TypeError) as error:
                why = error.format_message() if isinstance(error, click.ClickException) else str(error)
                raise ConfigError(f"[{name}] sets `{param.name}` to a wrong value: {why}") from error
        return table

    def has_other_table(self, name: str) -> bool:
        """Whether the table of this name is not that of a command."""
        from ..config.layers import TABLES

        return name in TABLES or name in self.host.names("recorder") or name in self.host.names("checker")

    def set_weakest(self, origin: str, tree: dict[str, Any], folder: Path) -> None:
        """Set values below those of every file, such as a recipe's. Their relative paths start at `folder`."""
        from ..config.values import Layer

        self._weakest = Layer(origin, tree, folder, public=True)

    def say(self, text: str) -> None:
        """Print one line on stderr, unless -q is given. Line breaks in `text` become spaces."""
        if self._buffered is not None:
            self._buffered.append(text)
        elif self.verbosity >= 0:
            from .output import say

            say(_BREAKS.sub(" ", text))

    def hold(self) -> None:
        """Buffer messages until `release`, because the verbosity is not known yet."""
        self._buffered = self._buffered or []

    def release(self) -> None:
        """Print the buffered messages."""
        buffered, self._buffered = self._buffered or [], None
        for text in buffered:
            self.say(text)


def _own(registry: Registry) -> None:
    from ..built_in import COMMANDS, SECTION_OF

    for name, summary in COMMANDS.items():  # so that no plugin can take these names
        registry.command(name, f"robust_qa.cli.{name}:command", summary=summary, section=SECTION_OF[name])


pass_run = click.make_pass_decorator(Run)
pass_run.__doc__ = "A decorator for commands that get the Run as their first argument."
