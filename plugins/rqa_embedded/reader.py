"""The reader and the evaluator `embedded`: two uses of one model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from robust_qa import Passage, Reading

if TYPE_CHECKING:
    from .choice import Marked
    from .engine import Engine, Floats


@lru_cache(maxsize=2)
def _engine(model: Path | None, threads: int) -> Engine:
    """One engine for the reader and the evaluator of the same model."""
    from .engine import Engine

    return Engine(model, threads)


def _marked(engine: Engine, requests: Sequence[tuple[str, Sequence[Passage]]]) -> list[list[Marked]]:
    """The windows of each request's passages with their marks; all go to the engine as one batch."""
    from .windows import cut

    windows = [
        window for n, (question, passages) in enumerate(requests) for window in cut(engine, n, question, passages)
    ]
    marks = engine.mark([(window.ids, window.types) for window in windows])
    found: list[list[Marked]] = [[] for _ in requests]
    for window, its in zip(windows, marks, strict=True):
        found[window.request].append((window, its))
    return found


class EmbeddedReader:
    """Points at the answer with a small model that comes with the package; works offline."""

    @dataclass
    class Options:
        model: Path | None = None  # folder of a model that `rqa train reader` made; default: the one in the package
        threshold: Annotated[float, Meta(ge=0, le=1)] | None = (
            None  # confidence below which the answer counts as not in the passages; default: the model's own
        )
        threads: Annotated[int, Meta(ge=0)] = 0  # threads of the engine; 0: one a core

    def __init__(self, options: Options) -> None:
        self._engine = _engine(options.model, options.threads)
        settings = self._engine.settings
        self._threshold = settings.threshold if options.threshold is None else options.threshold

    def fingerprint(self) -> str:
        """The model's identity."""
        return self._engine.identity

    def read(self, question: str, passages: Sequence[Passage]) -> Reading:
        """The answer to one question; see read_many."""
        return self.read_many([(question, passages)])[0]

    def read_many(self, requests: Sequence[tuple[str, Sequence[Passage]]]) -> list[Reading]:
        """The answers to many (question, passages), read as one batch.

        A reading's score is the calibrated probability that the answer is right; of None, one minus that of the best
        answer there was.
        """
        from .choice import choose

        return [
            choose(passages, marked, self._engine.settings, self._threshold)
            for (_, passages), marked in zip(requests, _marked(self._engine, requests), strict=True)
        ]


class EmbeddedEvaluator:
    """Judges whether a passage holds the answer, with the model of the reader `embedded`."""

    @dataclass
    class Options:
        model: Path | None = None  # folder of a model that `rqa train reader` made; default: the one in the package
        mode: Literal["judge", "dense"] = (
            "judge"  # "judge" reads question and passage together; "dense" compares their vectors, for passages in bulk
        )
        threads: Annotated[int, Meta(ge=0)] = 0  # threads of the engine; 0: one a core

    def __init__(self, options: Options) -> None:
        self._engine = _engine(options.model, options.threads)
        self._dense = options.mode == "dense"
        if not self._dense:
            self.upper, self.lower = self._engine.settings.upper, self._engine.settings.lower

    def fingerprint(self) -> str:
        """The model's identity."""
        return self._engine.identity

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Of each text, see score_many."""
        return self.score_many([(question, texts)])[0]

    def score_many(self, requests: Sequence[tuple[str, Sequence[str]]]) -> list[list[float]]:
        """Twice the probability that a text holds the answer, less one; or, dense, the cosine of text and question.

        A judge reads the texts of one question together: what several tell is more likely the answer.
        """
        if self._dense:
            return self._cosines(requests)
        from .choice import judged

        asked = [(question, [Passage(text) for text in texts]) for question, texts in requests]
        return [
            [2 * likely - 1 for likely in judged(passages, marked, self._engine.settings)]
            for (_, passages), marked in zip(asked, _marked(self._engine, asked), strict=True)
        ]

    def token_vectors(self, texts: Sequence[str]) -> list[Floats]:
        """Contextual vectors of unit length of each text's tokens, (tokens, width)."""
        return self._engine.token_vectors(texts)

    def tokens(self, texts: Sequence[str]) -> list[list[str]]:
        """The tokens that token_vectors gives vectors of."""
        return self._engine.words(texts)

    def _cosines(self, requests: Sequence[tuple[str, Sequence[str]]]) -> list[list[float]]:
        every = list(dict.fromkeys(text for question, texts in requests for text in (question, *texts)))
        if not every:
            return [[] for _ in requests]
        vectors = dict(zip(every, self._engine.embed(every), strict=True))
        return [
            [float(min(1.0, max(-1.0, vectors[question] @ vectors[text]))) for text in texts]
            for question, texts in requests
        ]
