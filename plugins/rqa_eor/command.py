"""`rqa train eor`: the weights of a pool of retrievers from questions with gold answers."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from robust_qa import InputError
from robust_qa.cli import Answering, KeyValue, jobs_option, output_option

if TYPE_CHECKING:
    from robust_qa.answering import Session
    from robust_qa.cli import Run

    from .ballots import Ballots
    from .search import Fit, Held

_PATH = click.Path(dir_okay=False, path_type=Path)


@click.command(
    "eor",
    epilog="Example: rqa train eor questions.jsonl -o voter.toml --metric em\n\n"
    "rqa train eor questions.jsonl -o voter.toml --reader lexical --resume",
)
@click.argument("data", type=_PATH)
@output_option(  # the run is kept beside FILE
    "FILE", "The TOML file to write.", name="output", required=True, stdout=False, dir_okay=False
)
@click.option(
    "--similarity", "similarities", metavar="NAME", multiple=True, help="Compare answers by this. May be repeated."
)
@click.option(
    "--metric",
    type=click.Choice(["containment", "em", "f1"]),
    default="containment",
    show_default=True,
    help="When an answer counts as right.",
)
@click.option("--folds", type=click.IntRange(2, 100), default=5, show_default=True, help="Folds of the estimate.")
@click.option("--restarts", type=click.IntRange(1, 1000), default=4, show_default=True, help="Starts of each search.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, help="Of the starts and the folds.")
@click.option("--reader", metavar="NAME", help="What reads the passages.")
@click.option(
    "-O", "--option", "options", type=KeyValue(), multiple=True, help="Set any configuration value. May be repeated."
)
@jobs_option
@click.option("--resume", is_flag=True, help="Continue the run that was interrupted, or fit to it anew.")
@click.option("--force", is_flag=True, help="Replace FILE and the run beside it.")
@click.pass_obj
def eor(
    run: Run,
    /,
    *,
    data: Path,
    output: Path,
    similarities: tuple[str, ...],
    metric: Any,
    folds: int,
    restarts: int,
    seed: int,
    reader: str | None,
    options: tuple[tuple[str, str], ...],
    jobs: int,
    resume: bool,
    force: bool,
) -> None:
    """Find the weights of the ensemble's retrievers on the questions in DATA.

    A row has `question`, `answers` (a list of gold answers) and, if it likes, `passages`. The pool answers all of
    them first, as `rqa batch` does, into FILE's name with the ending .jsonl.
    """
    from robust_qa.cli.batch_run import Target, answer_rows, in_session

    from .ballots import check_gold, load
    from .search import cross_validate, fit, minimiser, plain

    minimiser()  # it fails before the calls are made, and not after
    if resume and force:
        raise click.UsageError("--resume keeps the run and --force replaces it: give one of them.")
    if output.exists() and not (resume or force):
        raise InputError(f"{output} is there already.", hint="--resume fits anew, --force begins anew.")
    count = check_gold(data)
    kept = output.with_suffix(".jsonl")
    if kept == output:
        raise InputError(
            f"The run is kept in {kept}, too.", hint="Choose a name for -o that ends otherwise, as in .toml."
        )
    if data.exists() and kept.exists() and data.samefile(kept):
        raise InputError(f"The run would be kept in {kept}, which is the data.", hint="Choose another name for -o.")
    settings = [*options, ("strategy.eor.weights", ""), ("strategy.eor.lambdas", "")]
    if similarities:
        settings.append(("strategy.eor.similarities", json.dumps(similarities)))
    target = Target(kept, resume=resume, force=force)

    async def answered(session: Session) -> Any:
        """The options of the strategy that has answered them all."""
        with data.open("rb", buffering=0) as rows:
            await answer_rows(run, session, rows.fileno(), target, jobs=jobs, passages=False, details=True)
        return session.plan(has_passages=True).strategy.options

    answering = Answering("eor", reader=reader, option=tuple(settings))
    used = in_session(run, answering, answered, detailed=False)
    ballots, lost = load(kept, metric)
    if lost:
        click.echo(f"rqa: {lost} of {count} rows are left out: a call failed in them", err=True)
    folds = min(folds, len(ballots.right))
    run.say(f"fitting the weights to {len(ballots.right):,} questions")
    fitted = fit(ballots, restarts=restarts, seed=seed)
    held = cross_validate(ballots, folds=folds, restarts=restarts, seed=seed) if folds > 1 else None
    output.write_text(fragment(ballots, fitted, metric, held, used), "utf-8")
    for line in report(ballots, plain(ballots), fitted, metric, held):
        click.echo(line)
    click.echo(f"\n{output} is written: put it into your configuration (`rqa config path`).")


def fragment(ballots: Ballots, fitted: Fit, metric: str, held: Held | None, options: Any) -> str:
    """The configuration of the fitted voter: the retrievers and similarities that are left, and their weights.

    With the `options` that the questions were answered with: with others there would be other answers, or none.
    """
    pool = [(name, weight) for name, weight in zip(ballots.retrievers, fitted.weights, strict=True) if weight]
    by = [(name, number) for name, number in zip(ballots.similarities, fitted.lambdas, strict=True) if number]
    held_out = f", {held.fitted:.3f} on questions held out, where plain voting has {held.plain:.3f}" if held else ""
    default = dataclasses.asdict(type(options)())
    values = {
        **{name: value for name, value in dataclasses.asdict(options).items() if value != default[name]},
        "pool": [name for name, _ in pool],
        "weights": [float(weight) for _, weight in pool],
        "similarities": [name for name, _ in by],
        "lambdas": [float(number) for _, number in by],
        "pooling": ballots.pooling,
        "threshold": ballots.threshold,
    }
    lines = [
        f"# Fitted by `rqa train eor` to {len(ballots.right)} questions.",
        f"# {metric}: {fitted.value:.3f} on them{held_out}.",
        "[strategy.eor]",
        *(f"{name} = {json.dumps(value, ensure_ascii=False, default=str)}" for name, value in _flat(values)),
    ]
    return "\n".join(lines) + "\n"


def _flat(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What is in a table of them by its dotted name, as TOML has it."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from ((f"{name}.{inner}", one) for inner, one in value.items())
        else:
            yield name, value


def report(ballots: Ballots, even: Fit, fitted: Fit, metric: str, held: Held | None) -> Iterator[str]:
    """What was found, a line each."""
    width = max(len("retriever"), *map(len, ballots.retrievers))
    yield f"{'retriever':{width}}  answers  {metric:>11}  weight"
    alone, answers = ballots.right.mean(0), ballots.present.mean(0)
    for n, name in enumerate(ballots.retrievers):
        weight = f"{fitted.weights[n]:.3f}" if fitted.weights[n] else "out"
        yield f"{name:{width}}  {answers[n]:7.1%}  {alone[n]:11.1%}  {weight:>6}"
    yield ""
    by = ", ".join(f"{name} {number:g}" for name, number in zip(ballots.similarities, fitted.lambdas, strict=True))
    yield f"lambdas: {by}"
    yield f"{len(ballots.right)} questions: plain voting {even.value:.1%}, fitted {fitted.value:.1%}"
    if held is not None:
        gain, least = held.fitted - held.plain, 2 * held.error
        gain = gain if abs(gain) > 1e-9 else 0.0  # what is left of rounding
        verdict = "more" if gain > least else "less" if gain < -least else "no more"
        yield (
            f"held out: plain voting {held.plain:.1%}, fitted {held.fitted:.1%}, the best retriever {held.single:.1%}"
        )
        yield f"the fit is worth {gain:+.1%} (standard error {held.error:.1%}): {verdict} than plain voting"
