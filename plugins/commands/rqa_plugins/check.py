"""`rqa plugins check`: check a component against its contract."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import wait
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast, get_args

import click

import rqa_testing as testing
from robust_qa import ConfigError, Exit, MissingError, RqaError
from robust_qa.answering import Components, Config, Host, Kind, in_daemon
from robust_qa.cli import FiniteFloat, KeyValue, Run, pass_run, plugins_write_to_stderr, say
from robust_qa.kit import did_you_mean, printable
from rqa_testing import Finding, conformance

from .scaffold import KINDS

DATA_DIR = "RQA_DATA_DIR"


@click.command("check", epilog="Example: rqa plugins check lexical --kind reader")
@click.argument("name")
@click.option("--kind", type=click.Choice(KINDS), help="Kind of component, if two kinds share the name.")
@click.option(
    "--query",
    metavar="TEXT",
    default="What is the capital of France?",
    show_default=True,
    help="Query for a retriever.",
)
@click.option(
    "--file",
    metavar="PATH",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Example file for a format.",
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
    run: Run,
    name: str,
    *,
    kind: str | None,
    query: str,
    file: Path | None,
    seconds: float,
    option: tuple[tuple[str, str], ...],
) -> None:
    """Check the component NAME, as configured, against its contract."""
    report = Report(seconds)
    config = run.load_config(option)
    chosen = kind or _kind_of(name, run.host, config)
    with plugins_write_to_stderr():
        if chosen == "format":
            work = _format(run.host, name, file, seconds, report)
        elif chosen == "command":
            work = _command(run, name, seconds, report)
        else:
            work = _component(run.host, config, cast("Kind", chosen), name, query=query, seconds=seconds, report=report)
        report.watch(work)
    raise click.exceptions.Exit(report.finish(f"{chosen} {name}"))


def _component(
    host: Host, config: Config, kind: Kind, name: str, *, query: str, seconds: float, report: Report
) -> Callable[[], None]:
    """Return a function that checks a configured component."""
    components = Components(config, host)
    every = [components]

    def make(**options: Any) -> Any:
        every.append(Components(config, host, overrides={(kind, name): options}))
        return every[-1].build(kind, name)

    def work() -> None:
        part = components.component(kind, name)
        component = part.build(components.embedder)
        try:
            with part.attributed():
                getattr(component, "fingerprint", str)()
        except MissingError:
            raise
        except RqaError:
            pass  # the checks below report it
        testing.check(kind, component, query=query, seconds=seconds, close=True, report=report, make=make)
        for each in every:
            asyncio.run(each.close())

    if kind != "recorder":
        return work
    say(f"{name} keeps answers to test questions where it is configured to; change that with -O {name}.OPTION=VALUE")
    scratch = TemporaryDirectory(prefix="rqa-recorder-")
    os.environ[DATA_DIR] = scratch.name  # not the history of the user

    def apart() -> None:
        with scratch:
            work()

    return apart


def _format(host: Host, name: str, file: Path | None, seconds: float, report: Report) -> Callable[[], None]:
    """Return a function that checks a format of files. Raises ConfigError without the format or an example."""
    found = host.formats.get(name)
    if found is None:
        raise ConfigError(f"There is no format {name!r}.", hint=did_you_mean(name, host.formats))
    if file is None:
        raise ConfigError(f"The format {name!r} is checked with an example file.", hint="Add `--file PATH`.")

    def work() -> None:
        testing.check("format", found.file_format, file=file, seconds=seconds, report=report)

    return work


def _command(run: Run, name: str, seconds: float, report: Report) -> Callable[[], None]:
    """Return a function that checks a command. Raises ConfigError if there is none of that name."""
    found = run.host.command(name)
    if found is None:
        raise ConfigError(f"There is no command {name!r}.", hint=did_you_mean(name, run.host.commands))
    files = [part for each in run.host.plugins if each.is_file for part in ("--plugin", each.distribution)]
    shown = [sys.executable, "-m", "robust_qa", *files, *name.split(), "--help"]

    def work() -> None:
        testing.check("command", found.object, seconds=seconds, report=report)
        what = f"`rqa {name} --help` is shown in time"
        report.begin(what)
        try:
            subprocess.run(shown, capture_output=True, check=True, timeout=seconds)  # noqa: S603
        except subprocess.TimeoutExpired:
            why = f"no result within {seconds:g} seconds. Register the command as text, or import less with its module"
            report.found(Finding(what, "failed", why))
        except subprocess.CalledProcessError as error:
            report.found(Finding(what, "failed", str(error.stderr, "utf-8", "replace")))
        else:
            report.found(Finding(what, "passed"))

    return work


def _kind_of(name: str, host: Host, config: Config) -> str:
    """Return the kind of the component `name`. Raises ConfigError if none or several have that name."""
    names: dict[str, set[str]] = {kind: {*host.names(kind), *config.names(kind)} for kind in get_args(Kind)}
    names |= {"command": {*host.commands}, "format": {*host.formats}}
    found = [kind for kind in KINDS if name in names[kind]]
    if len(found) > 1:
        raise ConfigError(
            f"{name!r} names components of several kinds: {' and '.join(found)}.", hint=f"Add --kind {found[0]}."
        )
    if found:
        return found[0]
    if plugin := next((each for each in host.plugins if each.name == name), None):
        parts = [*host.components(), *host.commands.values(), *host.formats.values()]
        labels = [each.label for each in parts if each.plugin is plugin]
        hint = f"It has: {', '.join(labels)}." if labels else "Metrics and tools have no checks; test them with pytest."
        state = f" It is {plugin.state}: {plugin.reason}." if plugin.state != "loaded" else ""
        raise ConfigError(f"{name!r} is a plugin, and components are checked.{state}", hint="" if state else hint)
    hint = did_you_mean(name, sorted(set().union(*names.values()))) or "List the components with `rqa plugins`."
    raise ConfigError(f"There is no component {name!r}.", hint=hint)


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
