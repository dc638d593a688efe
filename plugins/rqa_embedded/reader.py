"""The reader, the evaluator and the embedder `embedded`, which share one model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
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

_MAX_TITLE = 100  # characters


@lru_cache(maxsize=2)
def _engine(model: Path | None, threads: int) -> Engine:
    """Return the engine that the components of a model share."""
    from .engine import CachingEngine

    return CachingEngine(model, threads)


def _compare_dates(
    engine: Engine, requests: Sequence[Request], see: Callable[[int, Asked, list[Marked]], None] | None = None
) -> dict[int, Reading | None]:
    """Return readings by request for the questions about what came first, or None without dates.

    `see` receives the position of the request, each intermediate question, and its marks.
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
    """Split a text of the form "title: text", as the model was trained on separate titles.

    A wrong split does no harm, because the model reads the title before the text.
    """
    title, colon, rest = text.partition(": ")
    split = colon and rest.strip() and title.strip() and len(title) <= _MAX_TITLE and "\n" not in title
    return Passage(rest, title=title) if split else Passage(text)


class EmbeddedReader:
    """Extracts answers with the packaged model, offline."""

    @dataclass
    class Options:
        model: Path | None = None  # folder written by `rqa train reader`; default: the packaged model
        threshold: Annotated[float, Meta(ge=0, le=1)] | None = None  # minimum confidence; default: the model's own
        threads: Annotated[int, Meta(ge=0)] = 0  # threads of the engine; 0: one for each core

    def __init__(self, options: Options) -> None:
        self._engine = _engine(options.model, options.threads)
        settings = self._engine.settings
        self._threshold = settings.threshold if options.threshold is None else options.threshold

    def fingerprint(self) -> str:
        """Return the identity of the model."""
        return self._engine.identity

    def read(self, question: str, passages: Sequence[Passage]) -> Reading:
        """Return the answer to one question; see `read_many`."""
        return self.read_many([(question, passages)])[0]

    def read_many(self, requests: Sequence[Request]) -> list[Reading]:
        """Return the answers to each (question, passages), computed as one batch.

        The score is the calibrated probability that the answer is right. For None it is 1 minus the score of the best
        answer. Questions about what came first are answered only by dates.
        """
        from .choice import choose

        by_date = _compare_dates(self._engine, requests)
        if self._threshold == 0:  # answer without dates too
            by_date = {number: reading for number, reading in by_date.items() if reading}
        rest = [number for number in range(len(requests)) if number not in by_date]
        marked = dict(zip(rest, marked_windows(self._engine, [requests[number] for number in rest]), strict=True))
        return [
            choose(passages, marked[number], self._engine.settings, self._threshold)
            if number in marked
            else self._apply_threshold(by_date[number])
            for number, (_, passages) in enumerate(requests)
        ]

    def _apply_threshold(self, reading: Reading | None) -> Reading:
        """Return `reading`, or no answer if its score is below the threshold."""
        score = reading.score or 0.0 if reading else 0.0
        return reading if reading and score >= self._threshold else Reading(None, score=1 - score)


class EmbeddedEvaluator:
    """Scores whether a passage contains the answer, with the model of the reader `embedded`."""

    @dataclass
    class Options:
        model: Path | None = None  # folder written by `rqa train reader`; default: the packaged model
        # "judge" reads question and passage together; "dense" compares their vectors, for many passages
        mode: Literal["judge", "dense"] = "judge"
        threads: Annotated[int, Meta(ge=0)] = 0  # threads of the engine; 0: one for each core

    def __init__(self, options: Options) -> None:
        self._engine = _engine(options.model, options.threads)
        self._dense = options.mode == "dense"
        if not self._dense:
            self.upper, self.lower = self._engine.settings.upper, self._engine.settings.lower

    def fingerprint(self) -> str:
        """Return the identity of the model."""
        return self._engine.identity

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return the score of each text; see `score_many`."""
        return self.score_many([(question, texts)])[0]

    def score_many(self, requests: Sequence[tuple[str, Sequence[str]]]) -> list[list[float]]:
        """Return 2p - 1 for each text, where p is the probability that it contains the answer.

        In mode "dense", return the cosine of text and question. In mode "judge", agreeing texts of a question raise
        each other's scores. Questions about what came first are scored by their parts. An empty text scores -1.
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

        _compare_dates(self._engine, asked, see)
        rest = [number for number in range(len(asked)) if number not in likely]
        for number, marked in zip(rest, marked_windows(self._engine, [asked[number] for number in rest]), strict=True):
            likely[number] = judged(asked[number][1], marked, settings)
        return [[2 * value - 1 for value in likely[number]] for number in range(len(asked))]

    def token_vectors(self, texts: Sequence[str]) -> list[Floats]:
        """Return contextual unit vectors of the tokens of each text, (tokens, width)."""
        return self._engine.token_vectors(texts)

    def tokens(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the tokens of `token_vectors`."""
        return self._engine.token_texts(texts)

    def _cosines(self, requests: Sequence[tuple[str, Sequence[str]]]) -> list[list[float]]:
        unique = list(dict.fromkeys(text for question, texts in requests for text in (question, *texts)))
        if not unique:
            return [[] for _ in requests]
        vectors = dict(zip(unique, self._engine.embed(unique), strict=True))
        return [
            [float(min(1.0, max(-1.0, vectors[question] @ vectors[text]))) if text.strip() else -1.0 for text in texts]
            for question, texts in requests
        ]


class EmbeddedEmbedder:
    """Vectors of the packaged model, offline."""

    cached = False  # a cache would hold more bytes than the texts

    @dataclass
    class Options:
        model: Path | None = None  # folder written by `rqa train reader`; default: the packaged model
        threads: Annotated[int, Meta(ge=0)] = 0  # threads of the engine; 0: one for each core

    def __init__(self, options: Options) -> None:
        self._engine = _engine(options.model, options.threads)

    def fingerprint(self) -> str:
        """Return the identity of the model."""
        return self._engine.identity

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return a unit vector of each text, (texts, width). Texts are cut at the length of a window."""
        return self._engine.embed(texts)
