"""Evaluator `t5`: a T5 or BERT on CTranslate2, the retrieval evaluator of Corrective RAG (Yan et al., 2024).

    rqa evaluator convert castorini/monot5-base-msmarco my-judge  # convert a checkpoint
    rqa train evaluator questions.jsonl -o my-judge                 # train your own
    rqa train thresholds questions.jsonl                            # choose thresholds for its scores

`folder` describes model folders, `pairs` tokenises a question and a text, `shapes` runs the three kinds of models, and
`engine` batches requests over the cores.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from robust_qa import Registry, RqaError, hookimpl

if TYPE_CHECKING:
    from .engine import Engine

_Score = Annotated[float, Meta(ge=-1, le=1)]


class T5:
    """Score texts with a T5 or BERT on a CPU, offline.

    Scores are in [-1, 1]. An empty text scores -1. A long text is cut at the model's limit in tokens (512 in the
    paper). The model is loaded by the first call.
    """

    @dataclass
    class Options:
        """The [evaluator.NAME] table."""

        model: Path | None = None  # model folder; default: the packaged model
        upper: _Score | None = None  # threshold from which a passage is relevant; default: the model's
        lower: _Score | None = None  # threshold below which it is irrelevant; default: the model's
        threads: Annotated[int, Meta(ge=0)] = 0  # cores to use; 0: all cores of this process

    def __init__(self, options: Options) -> None:
        from .folder import PACKAGED, check, read_settings

        self.folder = options.model or PACKAGED
        check(self.folder)
        self.settings = read_settings(self.folder)
        # Strategies with thresholds read these.
        self.upper = self.settings.upper if options.upper is None else options.upper
        self.lower = self.settings.lower if options.lower is None else options.lower
        self.titles = self.settings.input == "title-text"  # read by callers that join title and text
        self._threads = options.threads
        self._engine: Engine | None = None
        self._lock = threading.Lock()
        self._closed = False

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return the relevance of each text to the question."""
        return self.score_many([(question, texts)])[0]

    def score_many(self, requests: Sequence[tuple[str, Sequence[str]]]) -> list[list[float]]:
        """Return the scores for each (question, texts), computed as one batch over all cores.

        Raises MissingError if the model is damaged or cannot be loaded.
        """
        engine = self._load()
        values = iter(engine.score([(question, text) for question, texts in requests for text in texts]))
        return [[next(values) for _ in texts] for _, texts in requests]

    def fingerprint(self) -> str:
        """Return the identity of the model's weights and settings."""
        return self.settings.identity

    def close(self) -> None:
        """Free the model."""
        with self._lock:
            self._closed = True
            if self._engine is not None:
                self._engine.close()
                self._engine = None

    def _load(self) -> Engine:
        with self._lock:
            if self._closed:
                raise RqaError(f"The evaluator {self.folder} is closed.")
            if self._engine is None:
                from .engine import Engine

                self._engine = Engine(self.folder, self._threads)
            return self._engine


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.evaluator("t5", "rqa_t5:T5", rank=10, summary="a trained T5 or BERT on CTranslate2, offline")
