"""`rqa train reader`: train a model on your own rows or on the sources of the packaged model."""

from __future__ import annotations

import json
from pathlib import Path

import click

from robust_qa.cli import FiniteFloat, output_option

from ..commands import command_line, plan_options, require

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("reader", epilog="Example: rqa train reader examples/training.jsonl -o my-reader")
@click.argument("rows", nargs=-1, type=_FILE)
@output_option(
    "PATH", "Folder to write. An interrupted run there continues.", name="output", required=True, stdout=False
)
@click.option(
    "--corpora",
    type=_FOLDER,
    help="Folder with qamr.jsonl, squad_sentences.jsonl and wiki_passages.jsonl to train on too.",
)
@click.option(
    "--base",
    type=_FOLDER,
    help="Initial model: a BERT encoder saved by transformers with tokenizer.json, or a model made by this command. "
    "An MPNet encoder becomes a teacher in OUTPUT/torch. Default: the packaged model.",
)
@plan_options(epochs=1.0, rate=2.5e-4, length=192, shortest=32, longest=512)
@click.option(
    "--keep",
    "share",
    type=FiniteFloat(0, 1, max_open=True),
    default=0.0,
    show_default=True,
    help="Weight of the initial model in the result. Higher values forget less.",
)
@click.option(
    "--with",
    "others",
    multiple=True,
    type=_FOLDER,
    help="Output of another run with the same initial weights. The model is the mean of all runs. May be repeated.",
)
@click.option(
    "--teacher",
    "teachers",
    multiple=True,
    type=_FOLDER,
    help="Model made by this command whose scores are training targets. Several are averaged. May be repeated.",
)
@click.option(
    "--draws",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Passes over ROWS and --corpora in an epoch. Each draws new generated rows.",
)
def reader(rows: tuple[Path, ...], output: Path, **plan: object) -> None:
    """Train a reader on the JSONL files ROWS, then convert, calibrate and measure it.

    A row is {"question": ..., "context": ..., "answer": ...}, optionally with "title", "answer_start" and "answers".
    Use "answer": null for a passage without the answer. One context in twelve, and at least one, is held out for
    calibration and metrics. Training uses a GPU if torch finds one. The configuration for the new model goes to stdout.
    Try the model with:

    rqa ask --reader embedded -O reader.embedded.model=OUTPUT/model ...
    """
    require("torch", "transformers", "sklearn", "scipy")
    from .make import make

    make(rows, output, command=command_line("train"), say=lambda line: click.echo(line, err=True), **plan)  # type: ignore[arg-type]
    if (model := output / "model").is_dir():  # a teacher has none
        click.echo(f"[reader.embedded]\nmodel = {json.dumps(str(model.resolve()), ensure_ascii=False)}")
