"""`rqa train reader`: a reader's model from rows of your own, or from the sources of the model in the package."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import click

from robust_qa import MissingError
from robust_qa.cli import output_option
from robust_qa.kit import install_hint

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("reader", epilog="Example: rqa train reader examples/training.jsonl -o my-reader")
@click.argument("rows", nargs=-1, type=_FILE)
@output_option(
    "PATH", "The folder to write; taken up again if it is of the same run.", name="output", required=True, stdout=False
)
@click.option(
    "--corpora",
    type=_FOLDER,
    help="Also train on this folder's qamr.jsonl, squad_sentences.jsonl and wiki_passages.jsonl.",
)
@click.option(
    "--base",
    type=_FOLDER,
    help="What to start from: a BERT encoder as transformers saves it, with tokenizer.json, or a model that this "
    "command made. An encoder of another family with BERT's words (MPNet) becomes a teacher in OUTPUT/torch. Default: "
    "the model in the package.",
)
@click.option(
    "--epochs",
    type=click.FloatRange(min=0, min_open=True),
    default=1.0,
    show_default=True,
    help="Passes over the rows.",
)
@click.option(
    "--rate", type=click.FloatRange(min=0, min_open=True), default=2.5e-4, show_default=True, help="Peak learning rate."
)
@click.option("--batch", type=click.IntRange(min=1), default=32, show_default=True, help="Rows a step.")
@click.option(
    "--length", type=click.IntRange(32, 512), default=192, show_default=True, help="Tokens of question and passage."
)
@click.option(
    "--keep",
    "share",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.0,
    show_default=True,
    help="Share of the weights it starts from that is kept: what is learnt anew costs less of what was there.",
)
@click.option(
    "--with",
    "others",
    multiple=True,
    type=_FOLDER,
    help="The output of another run that began with the same weights; the model is the mean of all. Repeatable.",
)
@click.option(
    "--teacher",
    "teachers",
    multiple=True,
    type=_FOLDER,
    help="A model that this command made: its scores are learnt, too, also over passages near the questions; of "
    "several their mean. Repeatable.",
)
@click.option(
    "--draws",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="An epoch goes so often through ROWS and --corpora, whose rows by rules are drawn anew from the next seed.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=13,
    show_default=True,
    help="Of the order and of the rows made by rules.",
)
def reader(rows: tuple[Path, ...], output: Path, **plan: object) -> None:
    """Train a reader on the JSONL files ROWS, and convert, check, calibrate and measure it.

    A row is {"question": ..., "context": ..., "answer": ...}, with "title", "answer_start" and "answers" where known;
    "answer": null marks a passage that does not answer. One row in twelve, by its context, is kept out of training, to
    calibrate and measure on; at least the rows over one context, which may be too few to calibrate on. It trains on the
    GPU where torch finds one. A run that was stopped goes on where it was. On stdout are the lines for a configuration.
    OUTPUT/model is then a model to read with:

    rqa ask --reader embedded -O reader.embedded.model=OUTPUT/model ...
    """
    try:
        from .training.make import make
    except ImportError as error:
        raise MissingError(
            f"Training needs {error.name}, which is not installed.",
            hint=f"Install it: `{install_hint('train')}`.",
        ) from error
    words = sys.argv[sys.argv.index("train") :] if "train" in sys.argv else ["train", "reader"]
    command = shlex.join(["rqa", *words])
    make(rows, output, command=command, say=lambda line: click.echo(line, err=True), **plan)  # type: ignore[arg-type]
    if (model := output / "model").is_dir():  # not where it becomes a teacher
        click.echo(f"[reader.embedded]\nmodel = {json.dumps(str(model.resolve()), ensure_ascii=False)}")
