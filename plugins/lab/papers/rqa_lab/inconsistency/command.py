"""The command `rqa inconsistency`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import click

from rqa_eval.report.commands import form_of, output_options, write


@click.command(
    "inconsistency",
    epilog="Examples: rqa inconsistency runs/popqa\n\nrqa inconsistency runs/ensemble --pool eor -o disagreement.html",
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
@output_options("terminal", "html", "json")
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
    from rqa_eval.report.runs import Run
    from rqa_eval.report.terminal import terminal_text

    from .disagreement import Disagreement, disagreement_page
    from .members import Selection, members

    form = form or form_of(out)
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
    write(shown[form](), out)
