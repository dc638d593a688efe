"""The reader, evaluator and embedder `embedded`: one small packaged model extracts, scores and makes vectors.

They work offline on a CPU. The model (MiniLM, 6 layers, int8) marks the answer in each passage or finds none
(engine.py, windows.py, spans.py). The reader ranks the parts of passages (evidence.py) and weighs their answers
(choice.py). Train your own model with `rqa train reader` (training/).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from robust_qa import hookimpl
from robust_qa.cli import command_group

from .reader import EmbeddedEmbedder, EmbeddedEvaluator, EmbeddedReader

if TYPE_CHECKING:
    import click

    from robust_qa import Registry

__all__ = ["EmbeddedEmbedder", "EmbeddedEvaluator", "EmbeddedReader"]


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the reader, the evaluator and the embedder."""
    registry.reader("embedded", EmbeddedReader, rank=20)
    registry.evaluator("embedded", EmbeddedEvaluator, rank=20)
    registry.embedder("embedded", EmbeddedEmbedder, rank=10, summary="vectors of the packaged model, offline")


@hookimpl
def rqa_commands(cli: click.Group) -> None:
    """Add `rqa train reader`."""
    from .command import reader

    command_group(cli, "train", "Train on questions of your own.").add_command(reader)
