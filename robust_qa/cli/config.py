"""`rqa config`: show, check and trust configuration files."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..answering.configured import Configured
from ..built_in import SETTING_UP
from ..calls.cache import CacheSettings
from ..config import environment, trusted_files
from ..config import layers as configuration
from ..config import options as settings
from ..config.options import Defaults
from ..config.values import scrubbed
from ..errors import Exit, InputError, MissingError, RqaError, did_you_mean
from ..sanitize import printable
from ..types import KINDS, NAMED_KINDS, Kind
from .output import complain, say
from .run import Run, pass_run

if TYPE_CHECKING:
    from .reference import OptionTable


@click.group("config", invoke_without_command=True, epilog="Example: rqa config check")
@click.pass_context
def command(ctx: click.Context) -> None:
    """Show, check and trust configuration files. Without a command: `rqa config show`."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(show)


@command.command("show", short_help="Show every value with its origin.", epilog="Example: rqa config show")
@click.option("--json", "as_json", is_flag=True, help="Print values and origins as JSON.")
@pass_run
def show(run: Run, as_json: bool) -> None:
    """Show every value with its origin, and the defaults of [defaults], [cache], checkers and recorders.

    Values that look like secrets are hidden.
    """
    values = {key: (value.value, value.layer.origin) for key, value in run.load_config().leaves()}
    named = [each for kind in NAMED_KINDS for each in run.host.components(kind)]
    tables = [
        ("defaults", Defaults()),
        ("cache", CacheSettings()),
        *((each.name, each.options()) for each in named if each.options),
    ]
    for table, options in tables:
        for option in dataclasses.fields(options):
            if (value := getattr(options, option.name)) not in (None, {}):
                values.setdefault(f"{table}.{option.name}", (value, "built in"))
    rows = [
        {"key": key, "value": scrubbed(key, value), "origin": origin} for key, (value, origin) in sorted(values.items())
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=2, default=str))
        return
    for row in rows:
        encoded = json.dumps(row["value"], ensure_ascii=False, default=str)
        click.echo(printable(f"{row['key']} = {encoded}  # {row['origin']}"))


@command.command("options", short_help="Print all options.", epilog="Example: rqa config options reader.openai")
@click.argument("tables", nargs=-1, metavar="[TABLE]...")
@pass_run
def print_options(run: Run, tables: tuple[str, ...]) -> None:
    """Print the options of TABLE with their defaults, as TOML to copy from.

    TABLE is the name of a table, such as reader.openai, or its first part, or a command, such as serve. Without TABLE,
    print those of all tables but the commands'. Plugins that you installed are included.
    """
    from .reference import as_toml
    from .reference import option_tables as every

    known = every(run.host)
    found = [each for each in known if not tables or any(f"{each.name}.".startswith(f"{table}.") for table in tables)]
    found += [each for name in tables if (each := _table_of_command(run, name))]
    if missing := [table for table in tables if not any(f"{each.name}.".startswith(f"{table}.") for each in found)]:
        raise InputError(
            f"There is no table {missing[0]!r} with options.",
            hint=did_you_mean(missing[0], [*(each.name for each in known), *run.host.commands]),
        )
    click.echo("# Every option with its default. Copy what you change to rqa.toml, without the first #.")
    for each in found:
        click.echo()
        click.echo("\n".join(as_toml(each)))


def _table_of_command(run: Run, name: str) -> OptionTable | None:
    """Return the table of a command, None if there is none of this name."""
    from .reference import OptionTable

    found = None if name in SETTING_UP or run.has_other_table(name) else run.host.command(name)
    if found is None or isinstance(found.object, click.Group):
        return None
    return OptionTable(name, f"Options of `rqa {name}`", None, command=found.object)


@command.command("check", short_help="Check every table.", epilog="Example: rqa config check")
@pass_run
def check(run: Run) -> None:
    """Check every table, including unused ones, and show all errors."""
    run.problems = []
    config = run.load_config()
    components = Configured(config, run.host)
    tables = [(kind, name) for kind in KINDS if kind not in NAMED_KINDS for name in config.names(kind)]
    tables += [(kind, name) for kind in NAMED_KINDS for name in run.host.names(kind)]
    # Keyed by message to deduplicate: two checks may find the same problem.
    problems: dict[str, RqaError] = {error.message: error for error in (*run.problems, *components.check_defaults())}
    missing: dict[str, RqaError] = {}  # problems that only make some components unavailable

    def check_table(kind: Kind, name: str) -> None:
        missing.update({error.message: error for error in components.check(kind, name)})

    checks: list[Callable[[], object]] = [
        partial(settings.build, CacheSettings, config.table("cache")),
        *(partial(check_table, kind, name) for kind, name in tables),
        lambda: components.prompts,
        *(
            partial(_check_command, run, name)
            for name in run.host.commands
            if name not in SETTING_UP and any(name in layer.tree for layer in config.layers)
        ),
    ]
    for run_check in checks:
        try:
            run_check()
        except RqaError as error:
            problems.setdefault(error.message, error)
    configured = {str(path.resolve()) for path in config.plugin_files()[0]}
    for plugin in run.host.plugins:
        if plugin.state == "broken" and plugin.distribution in configured:
            message = f"The plugin {plugin.distribution} in `plugins` is broken."
            problems[message] = RqaError(message, hint="See `rqa plugins` for the reason.")
    for problem in (missing | problems).values():
        complain(problem)
    if problems:
        raise click.exceptions.Exit(Exit.USAGE)
    origins = dict.fromkeys(layer.origin for layer in config.layers)
    result = "No other problems" if missing else "No problems"
    click.echo(printable(f"{result} in {', '.join(origins) or 'the built-in defaults'}."))


def _check_command(run: Run, name: str) -> None:
    """Raises ConfigError if the table of a command sets an option that it does not have, or to a wrong value."""
    if (found := run.host.command(name)) is not None:
        run.defaults_of(name, found.object)


@command.command("path", short_help="List the configuration files in use.", epilog="Example: rqa config path")
@pass_run
def path(run: Run) -> None:
    """List the configuration files in use, highest precedence first, and the path of your own file."""
    config = run.load_config()
    files = [layer for layer in config.layers if not layer.textual]
    for layer in files:
        note = "  (untrusted: see rqa config trust)" if layer.confined else ""
        click.echo(printable(f"{layer.origin}{note}"))
    own = environment.config_dir() / configuration.USER_FILE_NAME
    if str(own) not in {layer.origin for layer in files}:
        click.echo(printable(f"{own}  (does not exist)"))


@command.command("trust", short_help="Trust a configuration file.", epilog="Example: rqa config trust")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--undo", is_flag=True, help="Stop trusting the file.")
def trust_file(file: Path | None, undo: bool) -> None:
    """Trust the configuration FILE with its current content.

    FILE defaults to the nearest rqa.toml in this folder or above.
    """
    chosen = file or configuration.find(Path.cwd())
    if chosen is None:
        raise MissingError(f"There is no {configuration.FILE_NAME} in this folder or above.")
    if not chosen.is_file():
        raise MissingError(f"There is no file {chosen}.")
    if undo:
        if not trusted_files.distrust(chosen):
            raise InputError(f"{chosen} is not trusted.")
        return
    content = chosen.read_bytes()
    plugins = configuration.parse(content, chosen).get("plugins")
    trusted_files.trust(chosen, content)
    say(f"Trusted {chosen.absolute()} with its current content.")
    if plugins:
        say(f"It loads code, and changes to that code need no new trust: {plugins}")
