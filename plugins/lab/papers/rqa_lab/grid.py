"""The command `rqa grid`: evaluate every combination of readers, numbers of passages, seeds and strategies."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from robust_qa.cli import output_option
from rqa_eval.commands import NAMES, NUMBERS, Several, evaluate_sets
from rqa_eval.report.commands import form_of, write

if TYPE_CHECKING:
    from robust_qa.cli import Run as CommandLine
    from rqa_eval.report.runs import Run
    from rqa_eval.report.tables import Table

SEEDS = Several("SEEDS", int)


@click.command(
    "grid",
    epilog="Example: rqa grid popqa.jsonl --readers small,large -k 5,10 --seeds 0,1,2 -s rag,astute -o grid "
    "-- --sample 200 --metrics contains",
)
@click.argument("data", type=click.Path(path_type=Path))
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
@click.option("--readers", metavar="NAMES", type=NAMES, default="", help="Readers. Default: the configured one.")
@click.option("-k", "passages", metavar="NUMBERS", type=NUMBERS, default="10", show_default=True, help="Passages.")
@click.option("--seeds", metavar="SEEDS", type=SEEDS, default="0", show_default=True, help="Seeds of the samples.")
@click.option("-s", "--strategy", "strategies", metavar="NAMES", type=NAMES, required=True, help="Strategies.")
@click.option("--report", metavar="FILE", type=click.Path(path_type=Path), help="Write the table to this file, too.")
@output_option("FOLDER", "Folder of the runs. Existing ones continue.", required=True, stdout=False, file_okay=False)
@click.pass_obj
def grid(
    run: CommandLine,
    /,
    *,
    data: Path,
    options: tuple[str, ...],
    readers: tuple[str, ...],
    passages: tuple[int, ...],
    seeds: tuple[int, ...],
    strategies: tuple[str, ...],
    report: Path | None,
    out: Path,
) -> None:
    """Evaluate every combination on DATA, with OPTIONS of `rqa eval` after `--`, and show one table.

    A reader is part of a strategy's name, as in `rag:small`, so each run in FOLDER compares all of them over the same
    passages. An interrupted grid continues when you repeat the command.
    """
    from rqa_eval.report import exports
    from rqa_eval.report.runs import Run
    from rqa_eval.report.terminal import terminal_text

    from .latex import latex

    asked = [f"{name}:{reader}" if reader else name for reader in readers or ("",) for name in strategies]
    runs: dict[tuple[int, int], Run] = {}
    for number, seed in itertools.product(passages, seeds):
        folder = out / f"k{number}-seed{seed}"
        run.say(f"{folder}: {', '.join(asked)}")
        again = ["--resume"] if (folder / "run.json").exists() else []
        arguments = [str(data), "-o", str(folder), "-s", ",".join(asked), "-k", str(number), "--seed", str(seed)]
        try:
            evaluate_sets.main([*arguments, *again, *options], prog_name="rqa eval", obj=run, standalone_mode=False)
        except click.exceptions.Exit as ended:
            run.say(f"{folder} ended with {ended.exit_code}; its report says which questions failed")
        runs[number, seed] = Run.load(folder)
    table = _table(runs)
    for text in terminal_text([table]):
        click.echo(text, nl=False)
    if report:
        write([latex([table]) if form_of(report) == "latex" else exports.markdown([table])], report)


def _table(runs: dict[tuple[int, int], Run]) -> Table:
    """Return the means over the seeds, each with its standard deviation."""
    from rqa_eval.report.overview import metrics_of, overalls
    from rqa_eval.report.tables import Cell, Column, Table, figure

    known = metrics_of(runs.values())
    chosen = next(iter(runs.values())).figures.chosen or [next(iter(runs.values())).figures.metric]
    found: dict[tuple[str, str, str], dict[str, list[float]]] = {}
    for (number, _), run in runs.items():
        for group in overalls(run):
            for name, figures in group.strategies.items():
                strategy, _, reader = name.partition(":")
                for metric in chosen:
                    if (value := figures[metric].value) is not None:
                        key = (reader or "default", str(number), strategy)
                        found.setdefault(key, {}).setdefault(metric, []).append(value)

    def cells(values: dict[str, list[float]]) -> Iterator[Cell]:
        for metric in chosen:
            numbers: Sequence[float] = values.get(metric, ())
            if not numbers:
                yield Cell("–")
                continue
            unit = known[metric].unit
            spread = f"± {figure(statistics.stdev(numbers), unit)}" if len(numbers) > 1 else ""
            yield Cell(figure(statistics.fmean(numbers), unit), spread)

    seeds = len({seed for _, seed in runs})
    return Table(
        title=f"Grid, means over {seeds} seed{'' if seeds == 1 else 's'} (shares in %)",
        heads=("reader", "k", "strategy"),
        columns=tuple(Column(metric, known[metric].summary) for metric in chosen),
        rows=tuple((key, tuple(cells(values))) for key, values in found.items()),
        notes=("In parentheses: the standard deviation over the seeds.",) if seeds > 1 else (),
    )
