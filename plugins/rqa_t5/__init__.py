"""`t5`: a trained judge of relevance on CTranslate2, the retrieval evaluator of Corrective RAG (Yan et al., 2024).

    rqa evaluator convert castorini/monot5-base-msmarco my-judge  # a checkpoint as a model folder
    rqa train evaluator questions.jsonl -o my-judge                 # a judge of your own
    rqa evaluator calibrate questions.jsonl                         # thresholds for its scores

What a model folder holds stands in `folder`, how a question and a text become tokens in `pairs`, the three shapes of
model in `shapes`, how requests are batched over the cores in `engine`, and what needs torch in `training`.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from robust_qa import RqaError, hookimpl
from robust_qa.cli import command_group

if TYPE_CHECKING:
    import click

    from robust_qa import Registry

    from .engine import Engine


class T5:
    """Scores of a trained T5 or BERT on CTranslate2, offline, on a CPU.

    A score is in [-1, 1]; an empty text scores -1, and of a long one the beginning is read, up to the model's own
    limit in tokens (the paper's is 512). The model is loaded at the first score.
    """

    @dataclass
    class Options:
        """The [evaluator.NAME] table."""

        model: Path | None = None  # folder of a model; none: the one in the package
        threads: Annotated[int, Meta(ge=0)] = 0  # cores it uses; 0: all that this process may use

    def __init__(self, options: Options) -> None:
        from .folder import PACKAGED, check, read_settings

        self.folder = options.model or PACKAGED
        check(self.folder)
        self.settings = read_settings(self.folder)
        self.upper, self.lower = self.settings.upper, self.settings.lower  # for strategies that decide by the score
        self._threads = options.threads
        self._engine: Engine | None = None
        self._loading = threading.Lock()
        self._closed = False

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """The relevance of each text to the question; see `score_many`."""
        return self.score_many([(question, texts)])[0]

    def score_many(self, requests: Sequence[tuple[str, Sequence[str]]]) -> list[list[float]]:
        """The scores of many (question, texts), read as one batch over all cores.

        Raises MissingError when the model is damaged or cannot be loaded.
        """
        engine = self._load()
        flat = iter(engine.score([(question, text) for question, texts in requests for text in texts]))
        return [[next(flat) for _ in texts] for _, texts in requests]

    def fingerprint(self) -> str:
        """The identity of the model's weights and settings."""
        return self.settings.identity

    def close(self) -> None:
        """Free the model."""
        with self._loading:
            self._closed = True
            if self._engine is not None:
                self._engine.close()
                self._engine = None

    def _load(self) -> Engine:
        with self._loading:
            if self._closed:
                raise RqaError(f"The evaluator over {self.folder} is closed.")
            if self._engine is None:
                from .engine import Engine

                self._engine = Engine(self.folder, self._threads)
            return self._engine


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the evaluator."""
    registry.evaluator("t5", T5, rank=10, summary="a trained T5 or BERT on CTranslate2, offline")


@hookimpl
def rqa_commands(cli: click.Group) -> None:
    """Add `rqa evaluator` and `rqa train evaluator`."""
    from .commands import evaluator
    from .training_command import train_evaluator

    cli.add_command(evaluator)
    command_group(cli, "train", "Train on questions of your own.").add_command(train_evaluator)
