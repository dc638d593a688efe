"""`rqa train evaluator`."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from robust_qa.cli import output_option

from .command_parts import FILE, command_line, need, quantization_option

if TYPE_CHECKING:
    from robust_qa.cli import Run

    from .training.examples import Example


@click.command("evaluator", epilog="Example: rqa train evaluator questions.jsonl -o my-judge")
@click.argument("data", nargs=-1, required=True, type=FILE)
@output_option(
    "DIRECTORY",
    "The folder to write; a run that was stopped there goes on.",
    name="output",
    required=True,
    stdout=False,
    file_okay=False,
)
@click.option("--base", metavar="CHECKPOINT", help="A T5 or BERT, a folder or a hub's name. Default: a new small T5.")
@click.option("--width", type=click.IntRange(32, 1024), default=256, show_default=True, help="Of the new T5.")
@click.option("--layers", type=click.IntRange(2, 24), default=3, show_default=True, help="Of the new T5's encoder.")
@click.option("--words", type=click.IntRange(100, 64_000), default=16_000, show_default=True, help="Its vocabulary.")
@click.option("--vectors", metavar="NAME", help="A configured evaluator that tells the new T5 which words are alike.")
@click.option(
    "--length", type=click.IntRange(16, 8192), default=256, show_default=True, help="Tokens of question and text."
)
@click.option("--negatives", type=click.IntRange(0), default=2, show_default=True, help="For each relevant text.")
@click.option("--hard", type=click.IntRange(0), default=1, show_default=True, help="Negatives by BM25, a question.")
@click.option("--teacher", metavar="NAME", help="A configured evaluator whose scores to learn from, too.")
@click.option(
    "--trust",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="Share of a teacher's score in a target.",
)
@click.option("--epochs", type=click.FloatRange(0, min_open=True), default=3.0, show_default=True, help="At most.")
@click.option("--batch", type=click.IntRange(1), default=32, show_default=True, help="Pairs a step.")
@click.option("--rate", type=click.FloatRange(0, min_open=True), default=1e-4, show_default=True, help="Learning rate.")
@click.option(
    "--patience",
    type=click.IntRange(0),
    default=4,
    show_default=True,
    help="Measurements without a better one before it ends; 0: never.",
)
@click.option("--measure-every", type=click.IntRange(0), default=0, help="Steps. Default: a twentieth of the run.")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=13,
    show_default=True,
    help="Of weights, drawing and order.",
)
@quantization_option
@click.pass_obj
def train_evaluator(
    run: Run, /, data: tuple[Path, ...], output: Path, teacher: str | None, vectors: str | None, **how: Any
) -> None:
    """Train an evaluator on the JSONL files DATA, convert it, and calibrate it.

    A line is {"question", "answers", "passages"}, where a passage that contains an answer is relevant, or is of the
    gold "page", or a pair {"question", "passage", "label"} with label 1 or -1, or with a teacher's "score". One
    question in ten is held out, to stop early by and to choose thresholds on. OUTPUT/model is then a model folder.
    """
    if vectors is not None and how["base"] is not None:
        raise click.UsageError("--vectors is for a new T5; that of --base has its own.")
    need("torch", "transformers")
    from .scoring import word_vectors
    from .training.loop import Plan
    from .training.make import Making, make

    names = {field.name for field in dataclasses.fields(Making)}
    figures = make(
        data,
        output,
        Making(**{key: value for key, value in how.items() if key in names}),
        Plan(**{key: value for key, value in how.items() if key not in names}),
        teacher=None if teacher is None else lambda examples: _taught(run, teacher, examples),
        vectors=None if vectors is None else lambda words: word_vectors(run, vectors, words),
        command=command_line("train"),
        say=lambda line: click.echo(line, err=True),
    )
    for what, value in figures.items():
        click.echo(f"{what}: {value:.4g}" if isinstance(value, float) else f"{what}: {value:,}", err=True)
    click.echo(f"[evaluator.t5]\nmodel = {json.dumps(str((output / 'model').resolve()), ensure_ascii=False)}")


def _taught(run: Run, teacher: str, examples: list[Example]) -> list[Example]:
    """The examples, with the teacher's scores where they have none of their own."""
    from .scoring import scores

    by_question: dict[str, list[int]] = {}
    for n, example in enumerate(examples):
        if example.score is None:
            by_question.setdefault(example.question, []).append(n)
    requests = [(question, [examples[n].text for n in of]) for question, of in by_question.items()]

    def told(done: int) -> None:
        click.echo(f"{teacher} has scored {done:,} of {len(requests):,} questions", err=True)

    found = scores(run, teacher, requests, told)
    taught = list(examples)
    for of, values in zip(by_question.values(), found, strict=True):
        for n, value in zip(of, values, strict=True):
            taught[n] = dataclasses.replace(examples[n], score=value)
    return taught
