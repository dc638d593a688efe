"""The command `rqa report`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from robust_qa.cli import FiniteFloat, output_option, print_to
from robust_qa.kit import printable

if TYPE_CHECKING:
    from robust_qa.cli import Run as CommandLine

    from .tables import Table

_FORMATS = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".csv": "csv",
    ".html": "html",
    ".htm": "html",
    ".json": "json",
    ".tex": "latex",
    ".dat": "pgfplots",
    ".pdf": "pdf",
}


def output_options(*formats: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds the options of a report."""

    def add(function: Callable[..., None]) -> Callable[..., None]:
        function = output_option("FILE", "Write to FILE. An existing file is replaced.", dir_okay=False)(function)
        summary = "Output format. Default: from the ending of FILE, otherwise terminal."
        return click.option("--to", "form", type=click.Choice(formats), help=summary)(function)

    return add


@click.command(
    "report",
    epilog="Examples: rqa report runs/popqa\n\nrqa report runs/small runs/large -o report.md",
)
@click.argument("folders", metavar="RUN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--max-size",
    metavar="MB",
    type=FiniteFloat(0),
    default=2.0,
    show_default=True,
    help="Size of the HTML report. Beyond it, questions are left out. 0: no limit.",
)
@output_options("terminal", "markdown", "csv", "html", "json", "latex", "pgfplots", "pdf")
@click.pass_obj
def report(
    run: CommandLine, /, *, folders: tuple[Path, ...], form: str | None, out: Path | None, max_size: float
) -> None:
    """Show the results of evaluation runs, with the strategies side by side. With -v, show every metric.

    RUN is a folder that `rqa eval` wrote. The HTML report of robust-qa-lab is one file that works offline. It shows
    accuracy against cost, the slices, and every question with the answer, trace and citations of each strategy.
    """
    from ..extras import every as added
    from ..extras import find
    from . import exports
    from .overview import tables
    from .runs import load_runs
    from .terminal import terminal_text

    form = form or form_of(out)
    runs = load_runs(folders)
    every = run.verbosity > 0

    def all_tables() -> list[Table]:
        cards = [table for make in added("cards") for table in make(runs)]
        return [*tables(runs, every=every, more="-v shows them"), *cards]

    shown: dict[str, Callable[[], Iterable[str]]] = {
        "terminal": lambda: terminal_text(all_tables(), out),
        "markdown": lambda: [exports.markdown(all_tables())],
        "csv": lambda: [exports.comma_separated(runs)],
        "json": lambda: [exports.as_json(runs)],
    }
    made = shown[form]() if form in shown else find("formats", form)(runs, max_size * 1e6 or math.inf, every=every)
    write(made, out)


def form_of(out: Path | None) -> str:
    """Return the format by the ending of the file. An unknown ending is a usage error."""
    if out is None:
        return "terminal"
    try:
        return _FORMATS[out.suffix.lower()]
    except KeyError:
        raise click.UsageError(
            f"Unknown file ending: {out}. End it in .md, .csv, .html, .json, .tex, .dat or .pdf, or add --to."
        ) from None


def write(parts: Iterable[str], out: Path | None) -> None:
    """Write to stdout or to the file, and print its size."""
    print_to(out)
    size = 0
    for part in parts:
        size += len(part.encode("utf-8", "replace"))
        click.echo(part, nl=False)
    if out is not None:
        shown = f"{size / 1e6:,.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
        click.echo(f"{printable(str(out))}: {shown}", err=True)
