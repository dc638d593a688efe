"""The commands `rqa report` and `rqa report inconsistency`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
}


class Reports(click.Group):
    """A group that takes arguments itself: `rqa report RUN...` and `rqa report inconsistency RUN`.

    A run folder named like a subcommand must be given as `./NAME`.
    """

    allow_interspersed_args = True

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters of the report. Subcommands do not inherit them."""
        return super().get_params(ctx) if ctx.command is self else []

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments of the report, unless the first one is a subcommand."""
        if args and args[0] in self.commands:
            ctx.args = list(args)
            return ctx.args
        return click.Command.parse_args(self, ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand, or the report itself."""
        if not ctx.args:
            return click.Command.invoke(self, ctx)
        name, command, rest = self.resolve_command(ctx, ctx.args)
        assert command is not None
        with command.make_context(name, rest, parent=ctx) as theirs:
            return theirs.command.invoke(theirs)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return the usage of the report itself."""
        return click.Command.collect_usage_pieces(self, ctx)


def _output_options(*formats: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    def add(function: Callable[..., None]) -> Callable[..., None]:
        function = output_option("FILE", "Write to FILE. An existing file is replaced.", dir_okay=False)(function)
        summary = "Output format. Default: from the ending of FILE, otherwise terminal."
        return click.option("--to", "form", type=click.Choice(formats), help=summary)(function)

    return add


@click.group(
    "report",
    cls=Reports,
    invoke_without_command=True,
    epilog="Examples: rqa report runs/popqa\n\nrqa report runs/small runs/large -o report.html",
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
@_output_options("terminal", "markdown", "csv", "html", "json", "latex")
@click.pass_obj
def report(
    run: CommandLine, /, *, folders: tuple[Path, ...], form: str | None, out: Path | None, max_size: float
) -> None:
    """Show the results of evaluation runs, with the strategies side by side. With -v, show every metric.

    RUN is a folder that `rqa eval` wrote. The HTML report is one file that works offline. It shows accuracy against
    cost, the slices, and every question with the answer, trace and citations of each strategy.
    `rqa report inconsistency RUN` shows how the strategies disagree.
    """
    from . import exports
    from .overview import tables
    from .run_page import run_page
    from .runs import load_runs
    from .tables import card_tables
    from .terminal import terminal_text

    form = form or _form(out)
    runs = load_runs(folders)
    every = run.verbosity > 0

    def all_tables() -> list[Table]:
        return [*tables(runs, every=every, more="-v shows them"), *card_tables(runs)]

    shown: dict[str, Callable[[], Iterable[str]]] = {
        "terminal": lambda: terminal_text(all_tables(), out),
        "markdown": lambda: [exports.markdown(all_tables())],
        "csv": lambda: [exports.comma_separated(runs)],
        "html": lambda: run_page(runs, max_size * 1e6 or math.inf),
        "json": lambda: [exports.as_json(runs)],
        "latex": lambda: [exports.latex(all_tables())],
    }
    _write(shown[form](), out)


@report.command(
    "inconsistency",
    epilog="Examples: rqa report inconsistency runs/popqa\n\n"
    "rqa report inconsistency runs/ensemble --pool eor -o disagreement.html",
)
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--pool", metavar="STRATEGY", help="Compare this strategy (eor) and its retrievers.")
@click.option("--metric", metavar="NAME", help="The metric of a right answer. Default: accuracy.")
@click.option(
    "--longest",
    metavar="N",
    type=click.IntRange(1),
    help="Exclude questions with longer answers (in words) from Eq. 4. The paper uses 5.",
)
@_output_options("terminal", "html", "json")
def inconsistency(
    *,
    folder: Path,
    form: str | None,
    out: Path | None,
    pool: str | None,
    metric: str | None,
    longest: int | None,
) -> None:
    """Show how the strategies of an evaluation run disagree.

    The report follows the Ensemble of Retrievers: how often one strategy is right where another is wrong, where
    failures come from, and the accuracy of a perfect voter.
    """
    from .disagreement import Disagreement, disagreement_page
    from .members import Selection, members
    from .runs import Run
    from .terminal import terminal_text

    form = form or _form(out)
    run = Run.load(folder)
    chosen = Selection(pool, next(iter(run.plan.conditions), None), metric, longest)
    found = Disagreement(run.name, metric or ("accuracy" if pool else run.correctness), chosen, members(run, chosen))
    shown: dict[str, Callable[[], Iterable[str]]] = {
        "terminal": lambda: terminal_text(found.tables(), out),
        "html": lambda: disagreement_page(found),
        "json": lambda: [found.as_json()],
    }
    if form not in shown:
        raise click.UsageError(f"This report cannot be written as {form}. Use --to html or --to json.")
    _write(shown[form](), out)


def _form(out: Path | None) -> str:
    if out is None:
        return "terminal"
    try:
        return _FORMATS[out.suffix.lower()]
    except KeyError:
        raise click.UsageError(
            f"Unknown file ending: {out}. End it in .md, .csv, .html, .json or .tex, or add --to."
        ) from None


def _write(parts: Iterable[str], out: Path | None) -> None:
    """Write to stdout or to the file, and print its size."""
    print_to(out)
    size = 0
    for part in parts:
        size += len(part.encode("utf-8", "replace"))
        click.echo(part, nl=False)
    if out is not None:
        shown = f"{size / 1e6:,.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
        click.echo(f"{printable(str(out))}: {shown}", err=True)
