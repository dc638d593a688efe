"""The reader and the evaluator `embedded`: answers pointed out, and passages judged, by a small model in the package.

They work offline on a CPU. The model (MiniLM, 6 layers, int8) marks the answer's words in each passage, or says that
they are not there (engine.py, windows.py); answers that several passages give are preferred (choice.py); what came
first is told by comparing dates (comparison.py). How it was made is in training/, and `rqa train reader` makes another
from your own questions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from robust_qa import hookimpl
from robust_qa.cli import command_group

from .reader import EmbeddedEvaluator, EmbeddedReader

if TYPE_CHECKING:
    import click

    from robust_qa import Registry

__all__ = ["EmbeddedEvaluator", "EmbeddedReader"]


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the reader and the evaluator."""
    registry.reader("embedded", EmbeddedReader, rank=20)
    registry.evaluator("embedded", EmbeddedEvaluator, rank=20)


@hookimpl
def rqa_commands(cli: click.Group) -> None:
    """Add `rqa train reader`."""
    from .command import reader

    command_group(cli, "train", "Train on questions of your own.").add_command(reader)
