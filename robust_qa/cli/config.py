"""`rqa config`: what is in force, where it comes from, whether it is right, and which found files are trusted."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import click

from ..answering.assembly import Assembly, Defaults
from ..calls.cache import CacheSettings
from ..config import environment, redaction, trust
from ..config import layers as configuration
from ..config import options as settings
from ..errors import Exit, InputError, MissingError, RqaError
from ..sanitize import printable
from ..types import KINDS, Kind
from .run import Run, pass_run


@click.group("config", epilog="Example: rqa config show")
def command() -> None:
    """Show, check and trust configurations."""


@command.command("show", short_help="Every value that is set, with its origin.", epilog="Example: rqa config show")
@click.option("--json", "as_json", is_flag=True, help="Print values and origins as JSON.")
@pass_run
def show(run: Run, as_json: bool) -> None:
    """Every value that is set, and the defaults of [defaults] and [cache], with its origin.

    What looks like a secret is not shown.
    """
    values = {key: (value.value, value.layer.origin) for key, value in run.load_config().leaves()}
    for table, options in (("defaults", Defaults()), ("cache", CacheSettings())):
        for option in dataclasses.fields(options):
            if (value := getattr(options, option.name)) not in (None, {}):
                values.setdefault(f"{table}.{option.name}", (value, "built in"))
    rows = [
        {"key": key, "value": redaction.scrubbed(key, value), "origin": origin}
        for key, (value, origin) in sorted(values.items())
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=2, default=str))
        return
    for row in rows:
        encoded = json.dumps(row["value"], ensure_ascii=False, default=str)
        click.echo(printable(f"{row['key']} = {encoded}  # {row['origin']}"))


@command.command("check", short_help="Check every table.", epilog="Example: rqa config check")
@pass_run
def check(run: Run) -> None:
    """Check every table, also of components that no question uses at present. All errors are shown at once."""
    from .output import complain

    run.problems = []
    config = run.load_config()
    assembly = Assembly(config, run.host)
    tables = [(kind, name) for kind in KINDS for name in config.names(kind)]
    # By message: two checks may find the same.
    problems: dict[str, RqaError] = {error.message: error for error in (*run.problems, *assembly.check_defaults())}
    lacking: dict[str, RqaError] = {}  # likewise, what a question goes without

    def check_table(kind: Kind, name: str) -> None:
        lacking.update({error.message: error for error in assembly.check(kind, name)})

    checks: list[Callable[[], object]] = [
        partial(settings.build, CacheSettings, config.table("cache")),
        *(partial(check_table, kind, name) for kind, name in tables),
        lambda: assembly.prompts,
    ]
    for one in checks:
        try:
            one()
        except RqaError as error:
            problems.setdefault(error.message, error)
    named = {str(path.resolve()) for path in config.plugin_files()[0]}
    for plugin in run.host.plugins:
        if plugin.state == "broken" and plugin.distribution in named:
            told = f"`plugins` names {plugin.distribution}, which is left out."
            problems[told] = RqaError(told, hint="`rqa plugins` says why.")
    for problem in (lacking | problems).values():
        complain(problem)
    if problems:
        raise click.exceptions.Exit(Exit.USAGE)
    origins = dict.fromkeys(layer.origin for layer in config.layers)
    nothing = "Nothing else" if lacking else "Nothing"
    click.echo(printable(f"{nothing} is wrong in {', '.join(origins) or 'the built-in defaults'}."))


@command.command("path", short_help="The configuration files in force.", epilog="Example: rqa config path")
@pass_run
def path(run: Run) -> None:
    """The configuration files in force, the strongest first, and where the user's own would be."""
    config = run.load_config()
    files = [layer for layer in config.layers if not layer.textual]
    for layer in files:
        note = "  (found here, not trusted: see rqa config trust)" if layer.confined else ""
        click.echo(printable(f"{layer.origin}{note}"))
    own = environment.config_dir() / configuration.USER_FILE_NAME
    if str(own) not in {layer.origin for layer in files}:
        click.echo(printable(f"{own}  (not there)"))


@command.command("trust", short_help="Vouch for a found configuration.", epilog="Example: rqa config trust")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--undo", is_flag=True, help="Take the trust back.")
def trust_file(file: Path | None, undo: bool) -> None:
    """Vouch for the found configuration FILE (default: the one found from here) as it is now."""
    chosen = file or configuration.find(Path.cwd())
    if chosen is None or not chosen.is_file():
        raise MissingError(f"There is no {chosen or configuration.FILE_NAME + ' here or above'}.")
    if undo:
        if not trust.distrust(chosen):
            raise InputError(f"{chosen} was not trusted.")
        return
    content = chosen.read_bytes()
    code = configuration.parse(content, chosen).get("plugins")
    trust.trust(chosen, content)
    click.echo(printable(f"Trusted {chosen.absolute()} as it is now; a change to it asks again."), err=True)
    if code:
        click.echo(printable(f"It loads code, whose changes are not asked about: {code}"), err=True)
