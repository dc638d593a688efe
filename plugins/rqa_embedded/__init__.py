"""The reader and the evaluator `embedded`: a small packaged model that extracts answers and scores passages.

Both work offline on a CPU. The model (MiniLM, 6 layers, int8) marks the answer in each passage or finds none
(engine.py, windows.py). The reader prefers answers of several passages (choice.py) and compares dates for questions
about what came first (comparison.py). Train your own model with `rqa train reader` (training/).
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
