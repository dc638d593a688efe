"""`rqa train reader`: train a model on rows of questions and passages."""

from __future__ import annotations

import json
from pathlib import Path

import click

from robust_qa.cli import output_option

from ..commands import command_line, plan_options, require

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("reader", epilog="Example: rqa train reader examples/training.jsonl -o my-reader")
@click.argument("rows", nargs=-1, required=True, type=_FILE)
@output_option(
    "PATH", "Folder to write. An interrupted run there continues.", name="output", required=True, stdout=False
)
@click.option(
    "--held-out", type=_FILE, help="Rows for calibration and metrics. Default: one context in twelve, and at least one."
)
@click.option(
    "--base",
    type=_FOLDER,
    help="Initial model: a BERT encoder saved by transformers with tokenizer.json, or a model made by this command. "
    "An MPNet encoder becomes a teacher in OUTPUT/torch. Default: the packaged model.",
)
@plan_options(epochs=1.0, rate=2.5e-4, length=192, shortest=32, longest=512)
@click.option(
    "--teacher",
    "teachers",
    multiple=True,
    type=_FOLDER,
    help="Model made by this command whose scores are training targets. Several are averaged. May be repeated.",
)
def reader(rows: tuple[Path, ...], output: Path, **plan: object) -> None:
    """Train a reader on the JSONL files ROWS, then convert, calibrate and measure it.

    A row is {"question": ..., "context": ..., "answer": ...}, optionally with "title", "answer_start" and "answers".
    Use "answer": null for a passage without the answer. Training uses a GPU if torch finds one. The configuration for
    the new model goes to stdout.
    Try the model with:

    rqa ask --reader embedded -O reader.embedded.model=OUTPUT/model ...
    """
    require("torch", "transformers", "sklearn", "scipy")
    from .make import make

    make(rows, output, command=command_line("train"), say=lambda line: click.echo(line, err=True), **plan)  # type: ignore[arg-type]
    if (model := output / "model").is_dir():  # a teacher has none
        click.echo(f"[reader.embedded]\nmodel = {json.dumps(str(model.resolve()), ensure_ascii=False)}")
