"""What the commands of one invocation share: the plugins, the configuration, and a voice on stderr."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..config import environment
from ..sanitize import printable

if TYPE_CHECKING:
    from ..config.layers import Config
    from ..errors import RqaError
    from ..host.loading import Host

_BREAKS = re.compile(r"\s*[\t\n]\s*")
_SILENT = 100  # times -q: the Tab key is no place for complaints


class Run:
    """The options before the command, and what they lead to. `verbosity` is the number of -v less that of -q."""

    def __init__(
        self,
        *,
        config_file: Path | None = None,
        plugin_files: Sequence[Path] = (),
        strict_plugins: bool = False,
        verbosity: int = 0,
    ) -> None:
        self.config_file = config_file
        self.verbosity = verbosity
        self._plugin_files = plugin_files
        self._strict_plugins = strict_plugins
        self._held: list[str] | None = None
        self.problems: list[RqaError] | None = None
        """Errors of the configuration, if they are to be collected; else the first one is raised."""

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> Run:
        """From the group's parameters, or as many of them as are parsed when help is asked for."""
        quiet = _SILENT if environment.COMPLETE in os.environ else params.get("quiet") or 0
        return cls(
            config_file=params.get("config_file"),
            plugin_files=params.get("plugin_files") or (),
            strict_plugins=params.get("strict_plugins") or False,
            verbosity=(params.get("verbose") or 0) - quiet,
        )

    @cached_property
    def host(self) -> Host:
        """The plugins, loaded once; what is wrong with any of them is said once."""
        from ..config import layers as config
        from ..host.loading import Host

        loaded = config.load(file=self.config_file, problems=self.problems)
        configured, refused = loaded.plugin_files(self.problems)
        for line in refused:
            self.say(line)
        host = Host.from_environment(files=[*configured, *self._plugin_files], strict=self._strict_plugins)
        for line in host.troubles():
            self.say(line)
        return host

    def load_config(self, overrides: Sequence[tuple[str, str]] = ()) -> Config:
        """The configuration in force, with the command line's KEY=VALUE pairs on top."""
        from ..config import layers as config

        loaded = config.load(file=self.config_file, overrides=overrides, problems=self.problems)
        if self.problems is None and loaded.overridden():
            loaded.check_names(self.host.names)
        return loaded

    def say(self, text: str) -> None:
        """A line on stderr, unless with -q; one also where a name in it holds line breaks."""
        if self._held is not None:
            self._held.append(text)
        elif self.verbosity >= 0:
            click.echo(f"rqa: {_BREAKS.sub(' ', printable(text))}", err=True)

    def hold(self) -> None:
        """Keep lines back until `release`, when the verbosity is known."""
        self._held = []

    def release(self) -> None:
        """Say the lines that were kept back."""
        held, self._held = self._held or [], None
        for text in held:
            self.say(text)


pass_run = click.make_pass_decorator(Run)
