"""Calibrate scores to probabilities with logistic regression on held-out rows (Platt, 1999)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from robust_qa import Passage
from robust_qa.kit import normalise, sentences

from ..choice import Choice, chosen, judged, weighed
from ..engine import PACKAGED, Marking, Settings
from ..told import Marked, Span, spans, text_of
from ..windows import marked_windows
from .metrics import f1
from .neighbours import Neighbours
from .rows import Row

Floats = NDArray[np.float64]
Sample = tuple[tuple[float, ...], float]  # features, and a label from 0 to 1

# Minimum probability of an answer: three of four are right.
MIN_CONFIDENCE = 0.75
CORRECT = 2 / 3  # share of answerable questions at the score `upper`
INCORRECT = 0.75  # share of unanswerable questions at the score `lower`
MIN_ROWS = 10  # with fewer held-out rows nothing is calibrated
_OTHERS = 5  # passages in addition to a row's own
_MAX_ANSWERABLE = 0.9  # with a higher share, unanswerable questions are added to fit the thresholds


def uncalibrated(length: int, stride: int) -> Settings:
    """Return settings that use only the margin and never abstain."""
    margin = (0.0, 1.0, 0.0, 0.0)
    return Settings(length, stride, span=margin, judge=margin, answer=(0.0, 1.0, 0.0), threshold=0.0)


def settings_before(base: Path | None) -> Settings:
    """Return the settings of the model in `base`, or of the packaged model if `base` is only an encoder."""
    own = None if base is None else base / "reader.json"
    path = own if own is not None and own.exists() else PACKAGED / "reader.json"
    return msgspec.json.decode(path.read_bytes(), type=Settings)


class Retrieved(NamedTuple):
    """A row's question with its own passage and others that a retriever would return."""

    row: Row
    passages: list[Passage]


def retrieved(rows: Sequence[Row]) -> list[Retrieved]:
    """Add to each row the _OTHERS most similar passages of other rows."""
    passages = list(dict.fromkeys(Passage(row.context, title=row.title) for row in rows))
    index = Neighbours([f"{passage.title} {passage.text}" for passage in passages])
    found = []
    for row in rows:
        own = Passage(row.context, title=row.title)
        near = [passages[n] for n in index.nearest(row.question, _OTHERS + 1)]
        found.append(Retrieved(row, [own, *(passage for passage in near if passage != own)][: _OTHERS + 1]))
    return found


def read(engine: Marking, asked: Sequence[Retrieved]) -> list[list[Marked]]:
    """Return the marked windows of each question."""
    return marked_windows(engine, [(one.row.question, one.passages) for one in asked])


def rightness(row: Row, text: str) -> float:
    """Return the F1 of an answer, or if only the sentence is known, whether that contains the answer."""
    if row.within is not None:
        sentence = normalise(row.context[row.within[0] : row.within[1]])
        return float(bool(normalise(text)) and normalise(text) in sentence)
    return f1(text, row.answers) if row.answers else 0.0


def holds(row: Row, passage: Passage) -> bool:
    """Return whether `passage` is the row's own or contains the sentence with the answer."""
    if not row.answerable:
        return False
    sentence = _sentence(row)
    return passage.text == row.context or (sentence != "" and sentence in passage.text)


def _sentence(row: Row) -> str:
    """Return the sentence with the answer, or nothing if it is unknown."""
    if row.within is not None:
        return row.context[row.within[0] : row.within[1]]
    if row.start is None:
        return ""
    return next((row.context[a:b] for a, b in sentences(row.context) if a <= row.start < b), "")


def calibrate(engine: Marking, rows: Sequence[Row], before: Settings, say: Callable[[str], None]) -> Settings:
    """Return the engine's settings with probabilities and thresholds fitted to the held-out `rows`.

    Every question is read with several passages, as from a retriever. Settings that the rows cannot determine keep
    their values of `before`.
    """
    if len(rows) < MIN_ROWS:
        say(f"{len(rows)} held-out rows are too few to calibrate: reader.json keeps the values of the initial model.")
        return msgspec.structs.replace(before, length=engine.settings.length, stride=engine.settings.stride)

    def fit(name: str, samples: Iterable[Sample]) -> tuple[float, ...]:
        found = list(samples)
        labels = [label for _, label in found]
        if len(set(labels)) > 1:
            return tuple(map(float, logistic(np.array([features for features, _ in found]), np.array(labels))))
        say(f"All held-out rows have the same label: {name} in reader.json keeps the value of the initial model.")
        unchanged: tuple[float, ...] = getattr(before, name)
        return unchanged

    asked = retrieved(rows)
    marked = read(engine, asked)
    settings = engine.settings
    settings = msgspec.structs.replace(settings, span=fit("span", _span_samples(asked, marked, settings)))
    settings = msgspec.structs.replace(settings, judge=fit("judge", _passage_samples(asked, marked, settings)))
    weights = fit("answer", _choice_samples(asked, marked, settings))
    thresholds = _thresholds(asked, marked, settings)
    if thresholds is None:
        say("All held-out questions are answerable, or none: lower and upper keep the values of the initial model.")
        thresholds = before.lower, before.upper
    lower, upper = thresholds
    return msgspec.structs.replace(settings, answer=weights, threshold=MIN_CONFIDENCE, lower=lower, upper=upper)


def _span_samples(asked: Sequence[Retrieved], marked: Sequence[list[Marked]], settings: Settings) -> Iterator[Sample]:
    """Yield the best span of each window with its F1."""
    for one, pairs in zip(asked, marked, strict=True):
        for window, marks in pairs:
            for span in spans(window, marks, settings)[:1]:
                words = text_of(one.passages[window.passage], span)
                yield (1.0, *span.evidence), rightness(one.row, words) if one.row.answerable else 0.0


def _passage_samples(
    asked: Sequence[Retrieved], marked: Sequence[list[Marked]], settings: Settings
) -> Iterator[Sample]:
    """Yield each passage and whether it contains the answer."""
    for one, pairs in zip(asked, marked, strict=True):
        # Also without the own passage, because the best other passage may look like an answer.
        for first, seen in enumerate((pairs, [pair for pair in pairs if pair[0].passage > 0])):
            found = weighed(one.passages, seen, settings)
            for passage, each in list(zip(one.passages, found, strict=True))[first:]:
                if each:
                    yield (1.0, *each), float(holds(one.row, passage))


def _choice_samples(asked: Sequence[Retrieved], marked: Sequence[list[Marked]], settings: Settings) -> Iterator[Sample]:
    """Yield the chosen answer of each question and whether it is right."""
    for one, pairs in zip(asked, marked, strict=True):
        choice = chosen(one.passages, pairs, settings)
        if choice is not None:
            yield (1.0, *choice.features), float(rightness(one.row, answer(one, choice)) >= 0.5)


def _thresholds(
    asked: Sequence[Retrieved], marked: Sequence[list[Marked]], settings: Settings
) -> tuple[float, float] | None:
    """Return the scores `lower` and `upper` of the best passage, or None if all questions have the same label.

    If almost all questions are answerable, each is also judged without its own passage.
    """
    features, answerable = [], []

    def judge(one: Retrieved, pairs: list[Marked], first: int) -> None:
        best = max(judged(one.passages, pairs, settings)[first:], default=0.0)
        features.append((1.0, _log_odds(best)))
        answerable.append(float(any(holds(one.row, passage) for passage in one.passages[first:])))

    for one, pairs in zip(asked, marked, strict=True):
        judge(one, pairs, 0)
    if sum(answerable) > _MAX_ANSWERABLE * len(answerable):
        for one, pairs in zip(asked, marked, strict=True):
            if others := [pair for pair in pairs if pair[0].passage > 0]:
                judge(one, others, 1)
    if len(set(answerable)) < 2:
        return None
    bias, slope = logistic(np.array(features), np.array(answerable))
    if not slope:  # the score has no effect
        return 0.0, 0.0
    lower, upper = (float(np.tanh((_log_odds(share) - bias) / slope / 2)) for share in (1 - INCORRECT, CORRECT))
    return lower, upper  # tanh(x / 2) equals 2 * logistic(x) - 1


def _log_odds(probability: float) -> float:
    probability = min(max(probability, 1e-6), 1 - 1e-6)
    return float(np.log(probability / (1 - probability)))


def answer(one: Retrieved, choice: Choice) -> str:
    """Return the text of a choice."""
    best: Span = choice.spans[0]
    return text_of(one.passages[best.passage], best)


def logistic(features: Floats, labels: Floats) -> Floats:
    """Return the weights of a logistic regression; the first feature is the constant 1.

    `labels` may lie between 0 and 1. Features with a negative weight are dropped, because no evidence may count
    against what it supports.
    """
    # scikit-learn needs classes: each row counts as both, weighted by its label.
    rows, classes = np.concatenate([features, features]), np.repeat([1, 0], len(labels))
    shares = np.concatenate([labels, 1 - labels])
    weights = np.zeros(features.shape[1])
    used = list(range(1, features.shape[1]))
    while used:
        model = LogisticRegression(solver="newton-cholesky", tol=1e-8).fit(rows[:, used], classes, shares)
        if model.coef_.min() >= 0:
            weights[0], weights[used] = model.intercept_[0], model.coef_[0]
            return weights
        del used[int(model.coef_[0].argmin())]
    weights[0] = _log_odds(float(labels.mean()))
    return weights
