"""`rqa train evaluator`."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import click

from robust_qa.cli import output_option
from rqa_t5.folder import read_settings

from ..commands import command_line, plan_options, require
from .tools import FILE, input_option, quantization_option


@click.command("evaluator", epilog="Example: rqa train evaluator pairs.jsonl --base t5-small -o my-judge")
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
    "--base", metavar="CHECKPOINT", required=True, help="T5 or BERT to start from: a folder or a name on the hub."
)
@click.option(
    "--shape",
    type=click.Choice(["classifier", "label"]),
    help="What a T5 becomes: classifier (a T5ForSequenceClassification, as in the CRAG paper) or label (generates one "
    "of two labels; fast). Default: as trained, or classifier.",
)
@input_option
@click.option(
    "--negatives", type=click.IntRange(0), default=2, show_default=True, help="Negatives for each relevant text."
)
@click.option("--hard", type=click.IntRange(0), default=1, show_default=True, help="BM25 negatives for each question.")
@plan_options(epochs=3.0, rate=1e-4, length=256, shortest=16, longest=8192)
@click.option(
    "--patience",
    type=click.IntRange(0),
    default=4,
    show_default=True,
    help="Stop after so many evaluations without improvement; 0: never.",
)
@quantization_option
def train(data: tuple[Path, ...], output: Path, **how: Any) -> None:
    """Train an evaluator on the JSONL files DATA, then convert and calibrate it.

    A line is {"question", "answers", "passages"}. Passages that contain an answer are relevant, or with "page", those
    of that title. A line can also be a pair {"question", "passage", "label"} with label 1 or -1, or a better judge's
    "score" instead. One question in ten is held out for early stopping and thresholds. OUTPUT/model is the model
    folder.
    """
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
        command=command_line("train"),
        say=lambda line: click.echo(line, err=True),
    )
    if read_settings(output / "model").shape == "classifier":
        click.echo(speed_note(output / "model"), err=True)
    for name, value in metrics.items():
        click.echo(f"{name}: {value:.4g}" if isinstance(value, float) else f"{name}: {value:,}", err=True)
    click.echo(f"[evaluator.t5]\nmodel = {json.dumps(str((output / 'model').resolve()), ensure_ascii=False)}")
