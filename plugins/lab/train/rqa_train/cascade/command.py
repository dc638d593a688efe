"""`rqa train cascade`: find the bounds of a cascade from a run of `rqa eval`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from robust_qa import InputError
from robust_qa.cli import FiniteFloat, output_option

if TYPE_CHECKING:
    from .fitting import Fitted, Record, Result


@click.command("cascade", epilog="Example: rqa train cascade steps.eval -o cascade.toml --budget 0.002")
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path))
@output_option(
    "FILE", "The TOML file to write.", name="output", required=True, stdout=False, formats=("toml",), dir_okay=False
)
@click.option("--metric", metavar="NAME", default="accuracy", show_default=True, help="What makes an answer right.")
@click.option("--accuracy", metavar="SHARE", type=FiniteFloat(0, 1), help="Reach this accuracy.")
@click.option("--budget", metavar="COST", type=FiniteFloat(0), help="Spend at most this a question.")
@click.option("--costs", metavar="COSTS", help="Cost of each step a question. Default: its prices, or its calls.")
@click.option("--force", is_flag=True, help="Replace FILE.")
def cascade(
    folder: Path,
    *,
    output: Path,
    metric: str,
    accuracy: float | None,
    budget: float | None,
    costs: str | None,
    force: bool,
) -> None:
    """Fit the bounds of the strategy cascade to RUN, a run of rqa eval with each step as a strategy, the cheapest
    first.

    By default the cascade keeps 95 % of the accuracy of the best step, at the least cost.
    """
    from .fitting import FOLDS, Target, cross_validate, fit, record, strategies

    if accuracy is not None and budget is not None:
        raise click.UsageError("Use either --accuracy or --budget.")
    if output.exists() and not force:
        raise InputError(f"{output} already exists.", hint="Replace it with --force.")
    names = strategies(folder)
    if len(names) < 2:
        raise InputError(f"A cascade needs two steps, and there is only {names[0]}.", hint="Run `rqa eval` with both.")
    given = _numbers(costs, len(names)) if costs else None
    found, unit = record(folder, names, given, metric)
    questions = found.right.shape[1]
    if questions < FOLDS:
        raise InputError(f"{folder} has {questions} questions, and {FOLDS} are needed.", hint="Use a longer set.")
    target = Target(accuracy, budget)
    fitted = fit(found, target)
    held_out = cross_validate(found, target)
    comments = (
        f"Fitted by `rqa train cascade` on {questions} questions.",
        f"Held out: {metric} {held_out.accuracy:.3f}, {held_out.cost:.4g} a question ({unit}).",
    )
    output.write_text("\n".join(to_toml(names, fitted, comments)) + "\n", "utf-8")
    for line in report(names, found, held_out, metric, unit):
        click.echo(line)
    if budget is not None and held_out.cost > budget:
        click.echo(f"The budget {budget:g} is not met on held-out questions.")
    if accuracy is not None and held_out.accuracy < accuracy:
        click.echo(f"The accuracy {accuracy:g} is not reached on held-out questions.")
    click.echo(f"\nWrote {output}. Copy it into your configuration (`rqa config path`).")


def _numbers(text: str, count: int) -> list[float]:
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError as error:
        raise click.UsageError(f"--costs must be numbers, not {text!r}.") from error
    if len(numbers) != count or min(numbers) < 0:
        raise click.UsageError(f"--costs needs {count} numbers from 0 on, one for each step.")
    return numbers


def to_toml(names: Sequence[str], fitted: Fitted, comments: Sequence[str]) -> Iterator[str]:
    """Yield the lines of the configuration."""
    yield from (f"# {comment}" for comment in comments)
    yield "[strategy.cascade]"
    yield f"steps = {json.dumps(list(names))}"
    yield f"bounds = {json.dumps(fitted.bounds)}"
    yield f"calibration = {json.dumps(fitted.points)}"


def report(names: Sequence[str], record: Record, held_out: Result, metric: str, unit: str) -> Iterator[str]:
    """Yield the lines of the result: each step by itself, and the cascade on held-out questions."""
    width = max(len("cascade, held out"), *map(len, names))
    yield f"{'':{width}}  {metric:>8}  {unit:>11}  answers"
    for name, right, cost, share in zip(names, record.right, record.cost, held_out.shares, strict=True):
        yield f"{name:{width}}  {right.mean():8.1%}  {cost.mean():11.4g}  {share:7.1%}"
    yield f"{'cascade, held out':{width}}  {held_out.accuracy:8.1%}  {held_out.cost:11.4g}  {1:7.1%}"
