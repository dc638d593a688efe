"""The reader, the evaluator and the embedder `embedded`, which share one model."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from robust_qa import Judgment, Passage, Quote, Reading
from robust_qa.kit import is_yes_no, language_of, language_of_question

if TYPE_CHECKING:
    from .engine import CachingEngine, Floats


Request = tuple[str, Sequence[Passage]]

_MAX_TITLE = 100  # characters
_NOT_ENGLISH = (
    "The {what} does not seem to be in English (but {language}), and this reader answers only in English. "
    "A language model reads other languages: see `rqa models list`."
)


@lru_cache(maxsize=2)
def _engine(model: Path | None, threads: int) -> CachingEngine:
    """Return the engine that the components of a model share."""
    from .engine import CachingEngine

    return CachingEngine(model, threads)


def _passage(text: str) -> Passage:
    """Split a text of the form "title: text", as the model was trained on separate titles.

    A wrong split does no harm, because the model reads the title before the text.
    """
    title, colon, rest = text.partition(": ")
    split = colon and rest.strip() and title.strip() and len(title) <= _MAX_TITLE and "\n" not in title
    return Passage(rest, title=title) if split else Passage(text)


def _in_english(reading: Reading, question: str, passages: Sequence[Passage]) -> Reading:
    """Return `reading` without answers in other languages, whose confidence is not calibrated."""
    candidates = reading.rivals if reading.text is None else (reading, *reading.rivals)
    if not candidates:
        return reading

    def language_of_passage(candidate: Reading) -> str:
        return _language_of_passage(question, passages[candidate.passages[0]])

    asked = language_of_question(question)
    for what, language in (("question", asked), ("closest passage", language_of_passage(candidates[0]))):
        if language != "en":
            return Reading(None, reason=_NOT_ENGLISH.format(what=what, language=language))
    return replace(reading, rivals=tuple(rival for rival in reading.rivals if language_of_passage(rival) == "en"))


def _language_of_passage(question: str, passage: Passage) -> str:
    """A short passage, such as a name, tells its language only together with the question."""
    return language_of(f"{question}\n{passage.title}\n{passage.text}")


class EmbeddedReader:
    """Extracts answers with the packaged model, offline."""

    @dataclass
    class Options:
        model: Path | None = None  # folder written by `rqa train reader`; default: the packaged model
        threshold: Annotated[float, Meta(ge=0, le=1)] | None = None  # minimum confidence; default: the model's own
        threads: Annotated[int, Meta(ge=0)] = 0  # threads of the engine; 0: one for each core

    def __init__(self, options: Options) -> None:
        self._engine = _engine(options.model, options.threads)
        self._english = options.model is None
        self._threads = options.threads
        settings = self._engine.settings
        self.threshold = settings.threshold if options.threshold is None else options.threshold

    def forget(self) -> None:
        """Forget what earlier questions left in memory, to measure the next ones."""
        self._engine.forget()

    def fingerprint(self) -> str:
        """Return the identity of the model, and of the judge if it answers yes or no."""
        if not self._english:
            return self._engine.identity
        from .engine import judge_identity

        return f"{self._engine.identity} {judge_identity()}"

    def read(self, question: str, passages: Sequence[Passage]) -> Reading:
        """Return the answer to one question; see `read_many`."""
        return self.read_many([(question, passages)])[0]

    def read_many(self, requests: Sequence[Request]) -> list[Reading]:
        """Return the answers to each (question, passages), computed as one batch.

        The score is the calibrated probability that the answer is right. The packaged model answers only in English.
        """
        from .choice import read
        from .evidence import find_evidence

        settings = self._engine.settings
        # A question that wants yes or no is judged, because no words of a passage are its answer.
        judged = [self._english and is_yes_no(question) for question, _ in requests]
        read_out = [each for each, wants in zip(requests, judged, strict=True) if not wants]
        spans = iter([read(evidence, settings, self.threshold) for evidence in find_evidence(self._engine, read_out)])
        verdicts = iter(self._judged([each for each, wants in zip(requests, judged, strict=True) if wants]))
        readings = [next(verdicts if wants else spans) for wants in judged]
        if not self._english:
            return readings
        return [_in_english(reading, *request) for reading, request in zip(readings, requests, strict=True)]

    def _judged(self, requests: Sequence[Request]) -> list[Reading]:
        if not requests:
            return []
        from .judging import packaged, read_many

        return read_many(packaged(self._threads), requests, self.threshold)

    def quote(self, question: str, passages: Sequence[Passage]) -> list[Quote]:
        """Return the parts of the passages that most likely answer one question; see `quote_many`."""
        return self.quote_many([(question, passages)])[0]

    def quote_many(self, requests: Sequence[Request]) -> list[list[Quote]]:
        """Return the parts that most likely answer each (question, passages), best first, computed as one batch.

        The score is the calibrated probability that the sentence of the highlight answers the question. The packaged
        model, which knows only English, gives none for other languages, and none if yes or no is wanted: of 18 such
        sentences over abstracts of PubMedQA one was right.
        """
        from .evidence import find_evidence, find_parts, quotes

        found = find_evidence(self._engine, requests)
        chosen = [
            quotes(parts, evidence.passages, self._engine.settings)
            for evidence, parts in zip(found, find_parts(self._engine, found), strict=True)
        ]
        return [self._scored(*each) for each in zip(chosen, requests, strict=True)] if self._english else chosen

    @staticmethod
    def _scored(found: list[Quote], request: Request) -> list[Quote]:
        question, passages = request
        is_read = language_of_question(question) == "en" and not is_yes_no(question)
        return [
            each
            if is_read and _language_of_passage(question, passages[each.passage]) == "en"
            else replace(each, score=None)
            for each in found
        ]


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
        self._threads = options.threads
        if not self._dense:
            self.upper, self.lower = self._engine.settings.upper, self._engine.settings.lower

    def forget(self) -> None:
        """Forget what earlier questions left in memory, to measure the next ones."""
        self._engine.forget()

    def fingerprint(self) -> str:
        """Return the identity of the model."""
        return self._engine.identity

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return the score of each text; see `score_many`."""
        return self.score_many([(question, texts)])[0]

    def score_many(self, requests: Sequence[tuple[str, Sequence[str]]]) -> list[list[float]]:
        """Return 2p - 1 for each text, where p is the probability that it contains the answer.

        In mode "dense", return the cosine of text and question. An empty text scores -1.
        """
        if self._dense:
            return self._cosines(requests)
        from .evidence import find_evidence, judge

        asked = [(question, [_passage(text) for text in texts]) for question, texts in requests]
        found = find_evidence(self._engine, asked)
        return [[2 * likely - 1 for likely in one] for one in judge(self._engine, found)]

    def judge(self, claim: str, texts: Sequence[str]) -> list[Judgment]:
        """Return whether each text supports the claim or contradicts it; see `judge_many`."""
        return self.judge_many([(claim, texts)])[0]

    def judge_many(self, requests: Sequence[tuple[str, Sequence[str]]]) -> list[list[Judgment]]:
        """Return what the packaged judge says of each text of each (claim, texts), computed as one batch."""
        from .judging import packaged

        judged = iter(packaged(self._threads).judge([(claim, text) for claim, texts in requests for text in texts]))
        return [[next(judged) for _ in texts] for _, texts in requests]

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
    languages: Collection[str] | None = None

    @dataclass
    class Options:
        model: Path | None = None  # folder written by `rqa train reader`; default: the packaged model
        threads: Annotated[int, Meta(ge=0)] = 0  # threads of the engine; 0: one for each core

    def __init__(self, options: Options) -> None:
        self._engine = _engine(options.model, options.threads)
        if options.model is None:
            self.languages = ("en",)

    def fingerprint(self) -> str:
        """Return the identity of the weights: other settings of the reader do not change a vector."""
        return self._engine.weights

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return a unit vector of each text, (texts, width). Texts are cut at the length of a window."""
        return self._engine.embed(texts)
