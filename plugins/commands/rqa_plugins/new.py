"""`rqa plugins new`: create a plugin project."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from robust_qa.cli import say

from .scaffold import KINDS, attempt, plugin_name, write_plugin


@click.command("new", epilog="Example: rqa plugins new my-notes --kind retriever")
@click.argument("name")
@click.option("--kind", type=click.Choice(KINDS), default="retriever", help="Kind of component.")
def new(name: str, kind: str) -> None:
    """Create a plugin project here, with a working component, command or format NAME, tests and packaging."""
    name = plugin_name(name, kind)
    written = write_plugin(name, kind, Path())
    for path in written:
        click.echo(path)
    folder = written[0].parent
    install = shlex.join(["pip", "install", "-e", f"{folder}[dev]"])
    say(f"Next: {install} && cd {shlex.quote(str(folder))} && pytest && {attempt(name, kind)}")
