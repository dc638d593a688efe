"""`rqa train documents`: continue the training of a reader on questions over real documents."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from robust_qa import InputError
from robust_qa.cli import FiniteFloat, output_option

from ..commands import command_line, require

if TYPE_CHECKING:
    from .documents import Group
    from .model import SpanReader

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_REPLAYED = 6000  # rows of an earlier training from which each step draws some
_HELD_OUT = 1000  # rows to calibrate on


@click.command("documents", epilog="Example: rqa train documents handbook/ minutes/ --rows rows.jsonl -o my-reader")
@click.argument("folders", nargs=-1, required=True, type=_FOLDER)
@output_option(
    "PATH", "Folder to write. An interrupted run there continues.", name="output", required=True, stdout=False
)
@click.option(
    "--rows",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    required=True,
    help="Rows as for `rqa train reader`. Some are repeated, so that the reader forgets nothing; others calibrate it.",
)
@click.option("--base", type=_FOLDER, help="Model made by `rqa train reader`. Default: the packaged model.")
@click.option(
    "--epochs",
    type=FiniteFloat(min=0, min_open=True),
    default=1.0,
    show_default=True,
    help="Passes over the questions.",
)
@click.option(
    "--rate", type=FiniteFloat(min=0, min_open=True), default=5e-5, show_default=True, help="Peak learning rate."
)
@click.option(
    "--cross-fit",
    is_flag=True,
    help="Learn from all documents, and calibrate on readers that did not learn from a quarter each: five trainings.",
)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=3, show_default=True, help="Random seed.")
def documents(folders: tuple[Path, ...], output: Path, **plan: object) -> None:
    """Continue a reader's training on questions over the documents in FOLDERS: what to read first, where the answer is.

    Each folder has `questions.jsonl` and the documents under `corpus/`. A line is {"question": ..., "answers": [...],
    "evidence": a passage of the document word for word, "doc": its path in corpus}. A question that the documents do
    not answer has no answers and no evidence, and may name a "near_miss": {"doc": ...}. A quarter of the folders of
    documents is held out for calibration, or with --cross-fit each in turn.
    """
    require("torch", "transformers", "sklearn", "scipy")
    make_over_documents(
        folders, output, command=command_line("train"), say=lambda line: click.echo(line, err=True), **plan  # type: ignore[arg-type]
    )  # fmt: skip
    click.echo(f"[reader.embedded]\nmodel = {json.dumps(str((output / 'model').resolve()), ensure_ascii=False)}")


def make_over_documents(
    folders: Sequence[Path],
    output: Path,
    *,
    rows: Path,
    base: Path | None = None,
    epochs: float = 1.0,
    rate: float = 5e-5,
    cross_fit: bool = False,
    seed: int = 3,
    command: str = "",
    say: Callable[[str], None] = print,
) -> dict[str, float]:
    """Train on the questions of `folders` and write `output/model`. Returns the metrics of the model card."""
    from rqa_embedded.engine import CHECKSUMS, Engine, save_settings

    from .calibrate import settings_before, uncalibrated
    from .card import history, notice
    from .documents import FOLDS, folds, load_groups, reader_without
    from .make import RunInfo, finish, split_rows
    from .model import convert
    from .ranking import Plan, train
    from .rows import load_rows
    from .unpack import base_folder

    output.mkdir(parents=True, exist_ok=True)
    own = [(folder / "questions.jsonl", load_groups(folder)) for folder in folders]
    groups = [group for _, part in own for group in part]
    parts = folds(groups)
    if len(set(parts)) < FOLDS:
        raise InputError(
            "The documents lie in too few folders to hold some out.",
            hint=f"Give documents in at least {FOLDS} folders under corpus/.",
        )
    repeated, held = split_rows(list(load_rows(rows)), None, seed)
    random.Random(seed).shuffle(repeated)
    plan = Plan(epochs=epochs, rate=rate, seed=seed)
    before, initial = settings_before(base), base_folder(base, output / "base", say)
    blank = uncalibrated(before.length, before.stride)

    def learn(held: int | None, folder: Path) -> SpanReader:
        """Learn from all questions but those of a part."""
        learnt = [group for group, part in zip(groups, parts, strict=True) if part != held]
        model = train(learnt, repeated[:_REPLAYED], initial, folder, plan, embedder=Engine(base), say=say)
        model.to("cpu").eval()
        return model

    def of(part: int) -> list[Group]:
        return [group for group, own in zip(groups, parts, strict=True) if own == part]

    others = [reader_without(output, part) for part in range(FOLDS)] if cross_fit else []
    for part, folder in enumerate(others):
        if not (folder / CHECKSUMS).exists():
            say(f"Without part {part + 1} of {FOLDS}:")
            folder.parent.mkdir(exist_ok=True)
            convert(learn(part, folder.parent), initial / "tokenizer.json", folder, blank)
    model = learn(None if cross_fit else 0, output)
    counts = [(path, len(part)) for path, part in own]
    run = RunInfo(command, plan, len(groups), notice(base, own=counts), history(base))
    metrics = finish(
        model, initial / "tokenizer.json", output, blank, held[:_HELD_OUT],
        parts=[(folder, of(part)) for part, folder in enumerate(others or [None])], before=before, run=run, say=say,
    )  # fmt: skip
    for folder in others:
        save_settings(folder, settings_before(output / "model"))  # to measure with them what the reader never saw
    return metrics
