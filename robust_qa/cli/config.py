"""`rqa config`: what is in force, where it comes from, whether it is right, and which found files are trusted."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from .. import config as configuration
from .. import environment, settings, trust
from ..errors import ConfigError, Exit, InputError, MissingError, RqaError
from ..host import KINDS
from ..session import CacheSettings, Defaults, Session
from ..text import printable
from .run import Run, pass_run

_SECRET = re.compile(r"key|token|secret|password|authorization|cookie|credential", re.IGNORECASE)
# Options that hold a key's name or a number of tokens, and no secret.
_HARMLESS = re.compile(r"(\A|\.)(key|max_tokens\w*)\Z", re.IGNORECASE)


@click.group("config", epilog="Example: rqa config show")
def command() -> None:
    """Show, check and trust configurations."""


@command.command("show", epilog="Example: rqa config show")
@click.option("--json", "as_json", is_flag=True, help="Print values and origins as JSON.")
@pass_run
def show(run: Run, as_json: bool) -> None:
    """Every value in force with its origin; what looks like a secret is not shown."""
    import msgspec

    rows = [
        {"key": key, "value": _scrubbed(key, value.value), "origin": value.layer.origin}
        for key, value in run.load_config().leaves()
    ]
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(rows, enc_hook=str), indent=2).decode())
        return
    for row in rows:
        encoded = msgspec.json.encode(row["value"], enc_hook=str).decode()
        click.echo(printable(f"{row['key']} = {encoded}  # {row['origin']}"))
    if not rows:
        run.say("nothing is configured: the built-in defaults are in force; `rqa init` writes a starter file")


def _scrubbed(key: str, value: Any) -> Any:
    if _SECRET.search(key) and not _HARMLESS.search(key):
        return "********"
    if isinstance(value, str):
        return re.sub(r"(?<=//)[^/@\s]+@", "********@", value)  # a password inside a URL
    return value


@command.command("check", epilog="Example: rqa config check")
@pass_run
def check(run: Run) -> None:
    """Check every table, also of components that no question uses at present."""
    config = run.load_config()
    session = Session(config, run.host)
    problems: list[RqaError] = []
    tables = [(kind, name) for kind in KINDS for name in config.names(kind)]
    checks: list[Callable[[], object]] = [
        partial(settings.build, Defaults, config.table("defaults")),
        partial(settings.build, CacheSettings, config.table("cache")),
        *(partial(session.validate, kind, name) for kind, name in tables),
        session.validate_defaults,
    ]
    for one in checks:
        try:
            one()
        except ConfigError as error:
            problems.append(error)
    from .output import complain

    for problem in problems:
        complain(problem)
    if problems:
        raise click.exceptions.Exit(Exit.USAGE)
    origins = dict.fromkeys(layer.origin for layer in config.layers)
    click.echo(f"{len(tables)} tables are right ({', '.join(origins) or 'built-in defaults'}).")


@command.command("path", epilog="Example: rqa config path")
@pass_run
def path(run: Run) -> None:
    """The configuration files in force, the strongest first, and where the user's own would be."""
    config = run.load_config()
    files = [layer for layer in config.layers if not layer.textual]
    for layer in files:
        click.echo(f"{layer.origin}{'  (found here, not trusted: see rqa config trust)' if layer.confined else ''}")
    own = environment.config_dir() / configuration.USER_FILE_NAME
    if str(own) not in {layer.origin for layer in files}:
        click.echo(f"{own}  (not there)")


@command.command("trust", epilog="Example: rqa config trust")
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
    configuration.read(chosen)
    trust.trust(chosen)
    click.echo(f"Trusted {chosen.resolve()} as it is now; a change to it asks again.", err=True)
