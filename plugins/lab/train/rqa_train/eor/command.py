"""`rqa train eor`: fit the weights of a pool of retrievers on questions with gold answers."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from robust_qa import InputError, MissingError
from robust_qa.cli import Answering, KeyValue, jobs_option, output_option
from robust_qa.kit import install_hint

if TYPE_CHECKING:
    from robust_qa.answering import Session
    from robust_qa.cli import Run

    from .ballots import Ballots
    from .search import CrossValidation, Fit

_PATH = click.Path(dir_okay=False, path_type=Path)
_FOLDS = 5  # of the cross-validation


@click.command(
    "eor",
    epilog="Example: rqa train eor questions.jsonl -o voter.toml\n\n"
    "rqa train eor questions.jsonl -o voter.toml --reader lexical --resume",
)
@click.argument("data", type=_PATH)
@output_option(
    "FILE", "The TOML file to write.", name="output", required=True, stdout=False, formats=("toml",), dir_okay=False
)
@click.option(
    "--similarity", "similarities", metavar="NAME", multiple=True, help="Compare answers with NAME. May be repeated."
)
@click.option(
    "--metric",
    type=click.Choice(["containment", "em", "f1"]),
    default="containment",
    show_default=True,
    help="Metric to maximise.",
)
@click.option("--recipe", metavar="NAME", help="Ask as this recipe of `rqa eval` does, such as eor-table1.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, help="Seed of the starts and the folds.")
@click.option("--reader", metavar="NAME", help="Reader of the passages.")
@click.option(
    "-O", "--option", "options", type=KeyValue(), multiple=True, help="Set any configuration value. May be repeated."
)
@jobs_option
@click.option("--resume", is_flag=True, help="Continue an interrupted run, or fit a finished run again.")
@click.option("--force", is_flag=True, help="Replace FILE and its run.")
@click.pass_obj
def eor(
    run: Run,
    /,
    *,
    data: Path,
    output: Path,
    similarities: tuple[str, ...],
    metric: Any,
    recipe: str | None,
    seed: int,
    reader: str | None,
    options: tuple[tuple[str, str], ...],
    jobs: int,
    resume: bool,
    force: bool,
) -> None:
    """Fit the weights of the strategy eor on the questions in DATA.

    A row has `question`, `answers` (a list of gold answers; `answer` in Natural Questions) and optionally `passages`.
    The pool first answers every row, as `rqa batch` does. These answers are saved next to FILE with the suffix .jsonl.
    """
    from robust_qa.cli.answering import in_session
    from rqa_rows import Batch
    from rqa_rows.running import answer_rows

    from .ballots import gold_of, load
    from .search import cross_validate, fit, load_minimize, plain

    load_minimize()  # fail before the calls, not after them
    if resume and force:
        raise click.UsageError("Use either --resume or --force, not both.")
    if output.exists() and not (resume or force):
        raise InputError(f"{output} already exists.", hint="Use --resume to continue its run or --force to replace it.")
    golds = gold_of(data)
    answers = output.with_suffix(".jsonl")
    if data.exists() and answers.exists() and data.samefile(answers):
        raise InputError(f"The answers would replace the data in {answers}.", hint="Give -o another name.")
    settings = [*options, ("strategy.eor.weights", ""), ("strategy.eor.lambdas", "")]
    if similarities:
        settings.append(("strategy.eor.similarities", json.dumps(similarities)))
    how: dict[str, Any] = {"resume": resume, "force": force, "jobs": jobs, "say": run.say}

    async def answer_all(session: Session) -> Any:
        """Answer every row and return the options of the strategy."""
        await answer_rows(run, Batch(session, str(data), str(answers), passages=False, details=True, **how))
        return session.components.strategy(session.choose(has_passages=True)[0]).options

    answering = Answering("eor", reader=reader, option=tuple(settings))
    if recipe:
        context = click.get_current_context()
        for line in _recipes().use(context, context.command.params[0], recipe).apply(run, answering):
            run.say(line)
    strategy_options = in_session(run, answering, answer_all, detailed=False)
    ballots, skipped = load(answers, metric, golds)
    if skipped:
        click.echo(f"rqa: skipped {skipped} of {len(golds)} rows with failed calls", err=True)
    folds = min(_FOLDS, len(ballots.right))
    run.say(f"fitting the weights to {len(ballots.right):,} questions")
    fitted = fit(ballots, seed=seed)
    held_out = cross_validate(ballots, folds=folds, seed=seed) if folds > 1 else None
    output.write_text(to_toml(ballots, fitted, metric, held_out, strategy_options), "utf-8")
    for line in report(ballots, plain(ballots), fitted, metric, held_out):
        click.echo(line)
    click.echo(f"\nWrote {output}. Copy it into your configuration (`rqa config path`).")


def _recipes() -> Any:
    """Return the module with the recipes. Raises MissingError without robust-qa-lab."""
    for entry in entry_points(group="rqa_eval.recipes", name="papers"):
        return entry.load()
    raise MissingError("`--recipe` is in robust-qa-lab.", hint=f"Install it: `{install_hint('lab')}`.")


def to_toml(ballots: Ballots, fitted: Fit, metric: str, held_out: CrossValidation | None, options: Any) -> str:
    """Return the configuration of the fitted voter, without retrievers and similarities of weight 0.

    It includes the `options` of the run, because other options lead to other answers.
    """
    pool = [(name, weight) for name, weight in zip(ballots.retrievers, fitted.weights, strict=True) if weight]
    by = [(name, number) for name, number in zip(ballots.similarities, fitted.lambdas, strict=True) if number]
    note = f"; held out: {held_out.fitted:.3f}, plain voting {held_out.plain:.3f}" if held_out else ""
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
        f"# Fitted by `rqa train eor` on {len(ballots.right)} questions.",
        f"# {metric}: {fitted.value:.3f}{note}.",
        "[strategy.eor]",
        *(f"{name} = {json.dumps(value, ensure_ascii=False, default=str)}" for name, value in _dotted(values)),
    ]
    return "\n".join(lines) + "\n"


def _dotted(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the entries of inner tables under dotted names, as TOML writes them."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from ((f"{name}.{inner}", one) for inner, one in value.items())
        else:
            yield name, value


def report(ballots: Ballots, equal: Fit, fitted: Fit, metric: str, held_out: CrossValidation | None) -> Iterator[str]:
    """Yield the lines of the result."""
    width = max(len("retriever"), *map(len, ballots.retrievers))
    yield f"{'retriever':{width}}  answers  {metric:>11}  weight"
    single, answers = ballots.right.mean(0), ballots.present.mean(0)
    for n, name in enumerate(ballots.retrievers):
        weight = f"{fitted.weights[n]:.3f}" if fitted.weights[n] else "out"
        yield f"{name:{width}}  {answers[n]:7.1%}  {single[n]:11.1%}  {weight:>6}"
    yield ""
    by = ", ".join(f"{name} {number:g}" for name, number in zip(ballots.similarities, fitted.lambdas, strict=True))
    yield f"lambdas: {by}"
    yield f"{len(ballots.right)} questions: plain voting {equal.value:.1%}, fitted {fitted.value:.1%}"
    if held_out is not None:
        gain, margin = held_out.fitted - held_out.plain, 2 * held_out.error
        verdict = "better than" if gain > margin else "worse than" if gain < -margin else "no better than"
        yield (
            f"held out: plain voting {held_out.plain:.1%}, fitted {held_out.fitted:.1%}, "
            f"best single retriever {held_out.single:.1%}"
        )
        yield f"gain of fitting: {gain:+.1%} (standard error {held_out.error:.1%}), {verdict} plain voting"
