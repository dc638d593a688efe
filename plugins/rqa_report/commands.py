"""`rqa report`: of runs, and how the members of a pool disagree."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from robust_qa import InputError
from robust_qa.cli import output_option
from robust_qa.kit import printable

if TYPE_CHECKING:
    from .runs import Run

_FORMATS = {".md": "markdown", ".markdown": "markdown", ".csv": "csv", ".html": "html", ".htm": "html", ".json": "json"}


class Reports(click.Group):
    """`rqa report RUN...`, and the commands beside it: a folder of such a name is given as `./NAME`."""

    allow_interspersed_args = True

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The parameters of the report itself, which those of the commands beside it do not follow."""
        return super().get_params(ctx) if ctx.command is self else []

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The arguments of the report itself, unless the first one names a command."""
        if args and args[0] in self.commands:
            ctx.args = list(args)
            return ctx.args
        return click.Command.parse_args(self, ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """The command that was named, or else the report of the runs."""
        if not ctx.args:
            return click.Command.invoke(self, ctx)
        name, command, rest = self.resolve_command(ctx, ctx.args)
        assert command is not None
        with command.make_context(name, rest, parent=ctx) as theirs:
            return theirs.command.invoke(theirs)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Options and RUN, as the report itself has them."""
        return click.Command.collect_usage_pieces(self, ctx)


def _output_options(*formats: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    def add(function: Callable[..., None]) -> Callable[..., None]:
        function = output_option("FILE", "Write to FILE, in place of what is there.", dir_okay=False)(function)
        how = "How to show it. Default: as the name of FILE ends, or terminal."
        return click.option("--to", "form", type=click.Choice(formats), help=how)(function)

    return add


@click.group(
    "report",
    cls=Reports,
    invoke_without_command=True,
    epilog="Examples: rqa report runs/popqa\n\nrqa report runs/small runs/large -o report.html",
)
@click.argument("folders", metavar="RUN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@_output_options("terminal", "markdown", "csv", "html", "json")
def report(folders: tuple[Path, ...], form: str | None, out: Path | None) -> None:
    """Show what evaluation runs found, their strategies side by side.

    RUN is a folder that `rqa eval` wrote. HTML is one page that needs no network: accuracy against cost, slices,
    and every question with each strategy's answer, trace and citations.
    `rqa report inconsistency RUN` shows how the strategies disagree.
    """
    from . import exports
    from .overview import tables
    from .run_page import run_page
    from .runs import load_runs
    from .terminal import terminal_text

    form = form or _form(out)
    runs = load_runs(folders)
    shown: dict[str, Callable[[], Iterable[str]]] = {
        "terminal": lambda: terminal_text(tables(runs), out),
        "markdown": lambda: [exports.markdown(tables(runs))],
        "csv": lambda: [exports.comma_separated(runs)],
        "html": lambda: run_page(runs),
        "json": lambda: [exports.as_json(runs)],
    }
    _write(shown[form](), out)


@report.command(
    "inconsistency",
    epilog="Examples: rqa report inconsistency runs/popqa\n\n"
    "rqa report inconsistency runs/ensemble --pool eor -o disagreement.html",
)
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--pool", metavar="STRATEGY", help="Compare the retrievers that this strategy asked, as eor does.")
@click.option("--set", "set_name", metavar="NAME", help="Only the questions of this set. Default: of all.")
@click.option("--condition", metavar="NAME", help="Only under this condition. Default: the first of the run.")
@click.option("--metric", metavar="NAME", help="What makes an answer right. Default: accuracy.")
@click.option("--least", metavar="X", type=float, default=1.0, help="Of the metric, for a right answer. Default: 1.")
@click.option(
    "--longest",
    metavar="N",
    type=click.IntRange(1),
    help="Words of an answer that Eq. 4 still looks at; 5 in the paper.",
)
@_output_options("terminal", "html", "json")
def inconsistency(
    *,
    folder: Path,
    form: str | None,
    out: Path | None,
    pool: str | None,
    set_name: str | None,
    condition: str | None,
    metric: str | None,
    least: float,
    longest: int | None,
) -> None:
    """Show how the strategies of an evaluation run disagree about what they answer right.

    How much each has right that another has wrong, where failures come from, and how much a perfect voter could have
    right, after the Ensemble of Retrievers.
    """
    from .disagreement import Disagreement
    from .disagreement_page import disagreement_page
    from .members import Selection, members
    from .runs import Run
    from .terminal import terminal_text

    form = form or _form(out)
    run = Run.load(folder)
    if not math.isfinite(least):
        raise click.UsageError("--least takes a number.")
    if pool and metric:
        raise click.UsageError("--pool compares by gold answers that are contained: leave out --metric.")
    _known(run, "set", set_name, [known.name for known in run.plan.sets])
    _known(run, "condition", condition, run.plan.conditions)
    conditions = run.plan.conditions
    chosen = Selection(pool, set_name, condition or (conditions[0] if conditions else None), metric, least, longest)
    found = Disagreement(run.name, metric or run.verdict, chosen, members(run, chosen))
    shown: dict[str, Callable[[], Iterable[str]]] = {
        "terminal": lambda: terminal_text(found.tables(), out),
        "html": lambda: disagreement_page(found),
        "json": lambda: [found.as_json()],
    }
    if form not in shown:
        raise click.UsageError(f"{out} would be {form}, which this report has not: --to html or json.")
    _write(shown[form](), out)


def _known(run: Run, what: str, name: str | None, names: Sequence[str]) -> None:
    if name is not None and name not in names:
        raise InputError(f"{run.folder} has no {what} {name!r}; it has: {', '.join(names) or 'none'}.")


def _form(out: Path | None) -> str:
    if out is None:
        return "terminal"
    try:
        return _FORMATS[out.suffix.lower()]
    except KeyError:
        raise click.UsageError(f"The name {out} does not say how to write it: give --to.") from None


def _write(parts: Iterable[str], out: Path | None) -> None:
    """Standard output, a file that is whole or not there, or a device or pipe, which stays one."""
    if out is None:
        _send(parts, sys.stdout.buffer)
        return
    try:
        if out.exists() and not out.is_file():
            with out.open("wb") as file:
                _send(parts, file)
            return
        target = out.resolve()  # a link stays one, too
        beside = target.with_name(f".{target.name}.part")
        with beside.open("wb") as file:
            try:
                _send(parts, file)
                file.close()
                beside.replace(target)
            finally:
                beside.unlink(missing_ok=True)
    except BrokenPipeError:
        raise  # whoever read it has enough
    except OSError as error:
        raise InputError(f"Cannot write {out}: {error.strerror}.") from error
    size = target.stat().st_size
    told = f"{size / 1e6:,.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
    click.echo(f"{printable(str(out))}: {told}", err=True)


def _send(parts: Iterable[str], file: BinaryIO) -> None:
    for part in parts:
        file.write(part.encode("utf-8", "replace"))
