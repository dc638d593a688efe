"""`rqa plugins`: list, check and create plugins."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import click

from ..host.loading import OWN_NAME
from ..host.registry import Plugin, Registered
from ..sanitize import printable, single_line
from .groups import OpenGroup
from .run import Run

if TYPE_CHECKING:
    pass


_COLUMNS = ("name", "kind", "distribution", "version", "state", "summary", "reason")
_OURS = "robust-qa"


@click.group("plugins", cls=OpenGroup, invoke_without_command=True, epilog="Example: rqa plugins")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """List plugins and their components, and why any is broken."""
    if ctx.invoked_subcommand is None:
        run = ctx.find_object(Run)
        assert run is not None
        _list(run, as_json)


def _list(run: Run, as_json: bool) -> None:
    host = run.host
    commands = (each for each in host.commands.values() if each.plugin.name != OWN_NAME)
    rows = [_component_row(each) for each in (*host.components(), *commands, *host.formats.values(), *host.refused)]
    working = {(row["plugin"], row["distribution"]) for row in rows}
    rows += [_plugin_row(p) for p in host.plugins if (p.name, p.distribution) not in working]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    from rich.text import Text

    from .output import console

    out = console()
    if not out.file.isatty():
        for row in [{column: column for column in _COLUMNS}, *rows]:
            click.echo("\t".join(single_line(row[column]) for column in _COLUMNS))
        return
    width = max(len(row["name"]) for row in rows)
    for kind in dict.fromkeys(row["kind"] for row in rows):
        out.print(Text(kind or "without components", style="bold"))
        for row in (row for row in rows if row["kind"] == kind):
            theirs = "" if row["distribution"] == _OURS else f"{row['distribution']} {row['version']}"
            state = "" if row["state"] == "loaded" else f"{row['state']}: {row['reason'].splitlines()[0]}"
            about = " · ".join(filter(None, (state, row["summary"], theirs)))
            style = {"broken": "red", "refused": "red", "off": "dim"}.get(row["state"], "")
            line = Text(f"  {single_line(row['name']):{width}}  {single_line(about)}", style)
            line.truncate(out.width, overflow="ellipsis")
            out.print(line)
    for row in rows:
        if row["reason"] and row["state"] != "off":
            out.print(Text(printable(f"{row['name']}: {row['reason']}")))


def _component_row(registration: Registered) -> dict[str, Any]:
    return {
        "name": registration.name,
        "kind": registration.label.partition(" ")[0],
        "plugin": registration.plugin.name,
        "distribution": registration.plugin.distribution,
        "version": registration.plugin.version,
        "state": "refused" if registration.reason else registration.plugin.state,
        "reason": registration.reason or registration.plugin.reason,
        "summary": registration.summary,
    }


def _plugin_row(plugin: Plugin) -> dict[str, Any]:
    row = dataclasses.asdict(plugin)
    return {**row, "kind": "", "plugin": row["name"], "summary": ""}
