"""`rqa plugins`: list, check and create plugins."""

from __future__ import annotations

import dataclasses
import json
import shlex
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..calls.concurrency import in_daemon
from ..errors import ConfigError, Exit, MissingError, RqaError, did_you_mean
from ..host.loading import OWN_NAME
from ..host.registry import Plugin, Registered
from ..sanitize import printable, single_line
from ..stdout import plugins_write_to_stderr
from ..testing import Finding, conformance
from ..types import ANSWERING_KINDS, Kind
from .options import FiniteFloat, KeyValue
from .output import say
from .run import Run, pass_run

if TYPE_CHECKING:
    from ..answering.components import Components


_COLUMNS = ("name", "kind", "distribution", "version", "state", "summary", "reason")
_OURS = "robust-qa"


@click.group("plugins", invoke_without_command=True, epilog="Example: rqa plugins")
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


@command.command("new", epilog="Example: rqa plugins new my-notes --kind retriever")
@click.argument("name")
@click.option(
    "--kind", type=click.Choice([*ANSWERING_KINDS, "command"]), default="retriever", help="Kind of component."
)
def new(name: str, kind: str) -> None:
    """Create a plugin project here, with a working component or command NAME, tests and packaging."""
    from ..host.scaffold import plugin_name, write_plugin

    name = plugin_name(name, kind)
    written = write_plugin(name, kind, Path())
    for path in written:
        click.echo(path)
    folder = written[0].parent
    attempt = f"rqa {name} --help" if kind == "command" else f"rqa plugins check {name}"
    install = shlex.join(["pip", "install", "-e", f"{folder}[dev]"])
    say(f"Next: {install} && cd {shlex.quote(str(folder))} && pytest && {attempt}")


@command.command("check", epilog="Example: rqa plugins check lexical --kind reader")
@click.argument("name")
@click.option("--kind", type=click.Choice(ANSWERING_KINDS), help="Kind of component, if two kinds share the name.")
@click.option(
    "--query",
    metavar="TEXT",
    default="What is the capital of France?",
    show_default=True,
    help="Query for a retriever.",
)
@click.option(
    "--timeout",
    "seconds",
    metavar="SECONDS",
    type=FiniteFloat(min=0, min_open=True),
    default=10.0,
    show_default=True,
    help="Fail a check that takes longer.",
)
@click.option("-O", "--option", type=KeyValue(), multiple=True, help="Set a configuration option. May be repeated.")
@pass_run
def check(
    run: Run, name: str, *, kind: Kind | None, query: str, seconds: float, option: tuple[tuple[str, str], ...]
) -> None:
    """Check the component NAME, as configured, against its contract."""
    import asyncio

    from .. import testing
    from ..answering.components import Components

    report = Report(seconds)
    config = run.load_config(option)
    components = Components(config, run.host)
    chosen = kind or _kind_of(name, components)

    every = [components]

    def make(**options: Any) -> Any:
        every.append(Components(config, run.host, overrides={(chosen, name): options}))
        return every[-1].build(chosen, name)

    def work() -> None:
        part = components.component(chosen, name)
        component = part.build(components.embedder)
        try:
            with part.attributed():
                getattr(component, "fingerprint", str)()
        except MissingError:
            raise
        except RqaError:
            pass  # the checks below report it
        testing.check(chosen, component, query=query, seconds=seconds, close=True, report=report, make=make)
        for each in every:
            asyncio.run(each.close())

    with plugins_write_to_stderr():
        report.watch(work)
    raise click.exceptions.Exit(report.finish(f"{chosen} {name}"))


def _kind_of(name: str, components: Components) -> Kind:
    """Return the kind of the component `name`. Raises ConfigError if none or several have that name."""
    names = {kind: {*components.host.names(kind), *components.config.names(kind)} for kind in ANSWERING_KINDS}
    found = [kind for kind in ANSWERING_KINDS if name in names[kind]]
    if not found:
        hint = did_you_mean(name, sorted(set().union(*names.values()))) or "List the components with `rqa plugins`."
        raise ConfigError(f"There is no component {name!r}.", hint=hint)
    if len(found) > 1:
        raise ConfigError(
            f"{name!r} names components of several kinds: {' and '.join(found)}.", hint=f"Add --kind {found[0]}."
        )
    return found[0]


_MARKS = {"passed": "ok     ", "failed": "FAILED ", "skipped": "skipped"}
_MARGIN = 2.0  # seconds after the timeout, in which asyncio can cancel the check itself


class Report(conformance.Report):
    """Prints findings on stdout. Create it before stdout is redirected."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._out = sys.stdout  # redirected while plugins run
        self._states: Counter[str] = Counter()
        self.begin("it can be built")

    def begin(self, name: str) -> None:
        """Start the timeout of the check `name`."""
        self._name, self._deadline = name, time.monotonic() + self._seconds + _MARGIN

    def watch(self, work: Callable[[], None]) -> None:
        """Do `work` in a thread. If that stops for longer than a check may take, add a failure and leave it behind."""
        future = in_daemon(work)
        while not wait([future], max(0, self._deadline - time.monotonic())).done:
            if time.monotonic() >= self._deadline:
                why = f"it blocks and cannot be stopped after {self._seconds:g} seconds"
                hint = "In an `async def`, await what takes long, or write a plain `def`, which runs in a thread."
                return self.found(Finding(self._name, "failed", f"{why}. {hint}"))
        return future.result()

    def found(self, finding: Finding) -> None:
        """Print a finding."""
        self._states[finding.state] += 1
        detail = f": {printable(finding.detail)}" if finding.detail else ""
        click.echo(f"{_MARKS[finding.state]} {finding.name}{detail}", file=self._out)
        self._out.flush()

    def finish(self, subject: str) -> Exit:
        """Print the summary. Return the exit code."""
        counts = ", ".join(f"{count} {state}" for state, count in sorted(self._states.items()))
        say(f"{subject}: {counts}")
        return Exit.FAILED if self._states["failed"] else Exit.ANSWERED
