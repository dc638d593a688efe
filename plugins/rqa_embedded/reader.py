"""The reader and the evaluator `embedded`: two uses of one model."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from robust_qa import Passage, Reading

from .windows import marked_windows

if TYPE_CHECKING:
    from .comparison import Asked
    from .engine import Engine, Floats
    from .told import Marked


Request = tuple[str, Sequence[Passage]]

_LONGEST_TITLE = 100  # characters


def _engine(model: Path | None, threads: int) -> Engine:
    """One engine for the reader and the evaluator of the same model."""
    return _engines(os.getpid())(model, threads)


@cache
def _engines(_: int) -> Callable[[Path | None, int], Engine]:
    """Those of a process. One that was forked has none of its parent's threads, and would wait for them to end, too."""
    from .memory import RememberingEngine

    return lru_cache(maxsize=2)(RememberingEngine)


def _compared(
    engine: Engine, requests: Sequence[Request], see: Callable[[int, Asked, list[Marked]], None] | None = None
) -> dict[int, Reading | None]:
    """The answers of those that ask what came first, by place; None where the passages do not tell.

    `see` gets what is asked on the way, with the place of its request and the marks.
    """
    from .choice import choose
    from .comparison import compare, comparison, settle

    def read(asked: Sequence[tuple[int, Asked]]) -> list[Reading]:
        parts = [(one.question, [requests[number][1][place] for place in one.passages]) for number, one in asked]
        readings = []
        for (number, one), (_, passages), marked in zip(asked, parts, marked_windows(engine, parts), strict=True):
            readings.append(choose(passages, marked, engine.settings, 0.0, one.fits))
            if see:
                see(number, one, marked)
        return readings

    found = {n: (comparison(question, passages), passages) for n, (question, passages) in enumerate(requests)}
    return settle({n: compare(one, passages) for n, (one, passages) in found.items() if one}, read)


def _passage(text: str) -> Passage:
    """A text to judge, with the title that it was handed over with (`titled`) apart again, as the model learnt to read.

    Where another word stands before its first colon, that does no harm: the model reads it before the rest, too.
    """
    title, colon, rest = text.partition(": ")
    apart = colon and rest.strip() and title.strip() and len(title) <= _LONGEST_TITLE and "\n" not in title
    return Passage(rest, title=title) if apart else Passage(text)


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

    def read_many(self, requests: Sequence[Request]) -> list[Reading]:
        """The answers to many (question, passages), read as one batch.

        A reading's score is the calibrated probability that the answer is right; of None, one minus that of the best
        answer there was. Which of several came first is answered by their dates, or not at all.
        """
        from .choice import choose

        settled = _compared(self._engine, requests)
        if self._threshold == 0:  # what is not decided by dates is answered all the same
            settled = {number: reading for number, reading in settled.items() if reading}
        left = [number for number in range(len(requests)) if number not in settled]
        marked = dict(zip(left, marked_windows(self._engine, [requests[number] for number in left]), strict=True))
        return [
            choose(passages, marked[number], self._engine.settings, self._threshold)
            if number in marked
            else self._sure(settled[number])
            for number, (_, passages) in enumerate(requests)
        ]

    def _sure(self, reading: Reading | None) -> Reading:
        """`reading`, where there is one and it is as sure as asked for."""
        score = reading.score or 0.0 if reading else 0.0
        return reading if reading and score >= self._threshold else Reading(None, score=1 - score)


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

        A judge reads the texts of one question together: what several tell is more likely the answer. Asked which of
        several came first, it judges by what is asked about each. An empty text scores -1.
        """
        if self._dense:
            return self._cosines(requests)
        from .choice import judged

        asked = [(question, [_passage(text) for text in texts]) for question, texts in requests]
        settings = self._engine.settings
        likely: dict[int, list[float]] = {}

        def see(number: int, one: Asked, marked: list[Marked]) -> None:
            best = likely.setdefault(number, [0.0] * len(asked[number][1]))
            passages = [asked[number][1][place] for place in one.passages]
            for place, value in zip(one.passages, judged(passages, marked, settings, one.fits), strict=True):
                best[place] = max(best[place], value)

        _compared(self._engine, asked, see)
        left = [number for number in range(len(asked)) if number not in likely]
        for number, marked in zip(left, marked_windows(self._engine, [asked[number] for number in left]), strict=True):
            likely[number] = judged(asked[number][1], marked, settings)
        return [[2 * value - 1 for value in likely[number]] for number in range(len(asked))]

    def token_vectors(self, texts: Sequence[str]) -> list[Floats]:
        """Contextual vectors of unit length of each text's tokens, (tokens, width)."""
        return self._engine.token_vectors(texts)

    def tokens(self, texts: Sequence[str]) -> list[list[str]]:
        """The tokens that token_vectors gives vectors of."""
        return self._engine.token_texts(texts)

    def _cosines(self, requests: Sequence[tuple[str, Sequence[str]]]) -> list[list[float]]:
        every = list(dict.fromkeys(text for question, texts in requests for text in (question, *texts)))
        if not every:
            return [[] for _ in requests]
        vectors = dict(zip(every, self._engine.embed(every), strict=True))
        return [
            [float(min(1.0, max(-1.0, vectors[question] @ vectors[text]))) if text.strip() else -1.0 for text in texts]
            for question, texts in requests
        ]
