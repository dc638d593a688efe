"""`rqa train evaluator`."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from robust_qa.cli import FiniteFloat, output_option
from rqa_t5.folder import SETTINGS, read_settings

from ..commands import command_line, plan_options, require
from .command_parts import (
    FILE,
    input_option,
    quantization_option,
    scores,
    word_vectors,
)

if TYPE_CHECKING:
    from robust_qa.cli import Run

    from .examples import Example


@click.command("evaluator", epilog="Example: rqa train evaluator questions.jsonl -o my-judge")
@click.argument("data", nargs=-1, required=True, type=FILE)
@output_option(
    "DIRECTORY",
    "Folder to write. An interrupted run there continues.",
    name="output",
    required=True,
    stdout=False,
    file_okay=False,
)
@click.option(
    "--base", metavar="CHECKPOINT", help="T5 or BERT: a folder or a name on the hub. Default: a new small T5."
)
@click.option(
    "--shape",
    type=click.Choice(["classifier", "label"]),
    help="What a T5 becomes: classifier (a T5ForSequenceClassification, as in the CRAG paper) or label (generates one "
    "of two labels; fast). Default: classifier for an ordinary T5, label for the new T5.",
)
@input_option
@click.option("--width", type=click.IntRange(32, 1024), default=256, show_default=True, help="Width of the new T5.")
@click.option(
    "--layers", type=click.IntRange(2, 24), default=3, show_default=True, help="Encoder layers of the new T5."
)
@click.option(
    "--words",
    type=click.IntRange(100, 64_000),
    default=16_000,
    show_default=True,
    help="Vocabulary size of the new T5.",
)
@click.option("--vectors", metavar="NAME", help="Evaluator whose word vectors initialise the new T5.")
@click.option(
    "--negatives", type=click.IntRange(0), default=2, show_default=True, help="Negatives for each relevant text."
)
@click.option("--hard", type=click.IntRange(0), default=1, show_default=True, help="BM25 negatives for each question.")
@click.option(
    "--teacher", metavar="NAME", help="Evaluator whose scores are also training targets, or its model folder."
)
@click.option(
    "--trust",
    type=FiniteFloat(0, 1),
    default=0.5,
    show_default=True,
    help="Weight of a teacher's score in a target.",
)
@plan_options(epochs=3.0, rate=1e-4, length=256, shortest=16, longest=8192)
@click.option(
    "--patience",
    type=click.IntRange(0),
    default=4,
    show_default=True,
    help="Stop after so many evaluations without improvement; 0: never.",
)
@quantization_option
@click.pass_obj
def train(
    run: Run, /, data: tuple[Path, ...], output: Path, teacher: str | None, vectors: str | None, **how: Any
) -> None:
    """Train an evaluator on the JSONL files DATA, then convert and calibrate it.

    A line is {"question", "answers", "passages"}. Passages that contain an answer are relevant, or with "page", those
    of that title. A line can also be a pair {"question", "passage", "label"} with label 1 or -1, or a teacher's
    "score" instead. One question in ten is held out for early stopping and thresholds. OUTPUT/model is the model
    folder.
    """
    if vectors is not None and how["base"] is not None:
        raise click.UsageError("Use either --vectors or --base, not both.")
    if how["shape"] == "classifier" and how["base"] is None:
        raise click.UsageError("--shape classifier needs a T5 to start from: add --base t5-large, for example.")
    if teacher is not None and (Path(teacher) / SETTINGS).is_file() and how["base"] is None:
        how["input"] = how["input"] or read_settings(Path(teacher)).input
    require("torch", "transformers", "sklearn")
    from .conversion import speed_note
    from .make import ModelOptions, make
    from .train import Plan

    names = {field.name for field in dataclasses.fields(ModelOptions)}
    metrics = make(
        data,
        output,
        ModelOptions(**{key: value for key, value in how.items() if key in names}),
        Plan(**{key: value for key, value in how.items() if key not in names}),
        teacher=None if teacher is None else lambda examples: _with_teacher_scores(run, teacher, examples),
        vectors=None if vectors is None else lambda words: word_vectors(run, vectors, words),
        command=command_line("train"),
        say=lambda line: click.echo(line, err=True),
    )
    if read_settings(output / "model").shape == "classifier":
        click.echo(speed_note(output / "model"), err=True)
    for name, value in metrics.items():
        click.echo(f"{name}: {value:.4g}" if isinstance(value, float) else f"{name}: {value:,}", err=True)
    click.echo(f"[evaluator.t5]\nmodel = {json.dumps(str((output / 'model').resolve()), ensure_ascii=False)}")


def _with_teacher_scores(run: Run, teacher: str, examples: list[Example]) -> list[Example]:
    """Return the examples, with the teacher's score for each example without a score.

    `teacher` is a model folder or the name of a configured evaluator.
    """
    from rqa_t5 import T5

    by_question: dict[str, list[int]] = {}
    for n, example in enumerate(examples):
        if example.score is None:
            by_question.setdefault(example.question, []).append(n)
    requests = [(question, [examples[n].text for n in of]) for question, of in by_question.items()]

    def progress(done: int) -> None:
        click.echo(f"{teacher} has scored {done:,} of {len(requests):,} questions", err=True)

    if (Path(teacher) / SETTINGS).is_file():
        found = T5(T5.Options(model=Path(teacher))).score_many(requests)
    else:
        found = scores(run, teacher, requests, progress)
    result = list(examples)
    for of, values in zip(by_question.values(), found, strict=True):
        for n, value in zip(of, values, strict=True):
            result[n] = dataclasses.replace(examples[n], score=value)
    return result
