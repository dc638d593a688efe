"""Calibrate scores to probabilities with logistic regression on held-out rows (Platt, 1999)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize
from scipy.special import expit, logsumexp
from sklearn.linear_model import LogisticRegression

from robust_qa import Passage
from robust_qa.kit import contains_answer, normalise, sentences
from rqa_claims import sentence_at
from rqa_embedded.choice import Choice, choose_each
from rqa_embedded.engine import PACKAGED, Marking, Settings
from rqa_embedded.evidence import (
    Evidence,
    Part,
    distinct,
    find_evidence,
    find_parts,
    passage_features,
    quotes,
    sentence_features,
    without,
)
from rqa_embedded.spans import text_of

from ..metrics import f1
from .documents import Group
from .neighbours import Neighbours
from .rows import Row

Floats = NDArray[np.float64]
Sample = tuple[tuple[float, ...], float]  # features, and a label from 0 to 1

RIGHT_SHARE = 0.82  # of the asserted answers; over documents that nobody prepared, three of four
CORRECT = 2 / 3  # share of answerable questions at the score `upper`
INCORRECT = 0.75  # share of unanswerable questions at the score `lower`
MIN_ROWS = 10  # with fewer held-out rows nothing is calibrated
_PASSAGES = 10  # of a question over documents
_OTHERS = 5  # passages in addition to a row's own
_MAX_ANSWERABLE = 0.9  # with a higher share, unanswerable questions are added
_RIGHT = 0.5  # F1 of a right answer
_PENALTY = 1e-3  # of the squared weights of relevance


def uncalibrated(length: int, stride: int) -> Settings:
    """Return settings that use only the margin and never abstain."""
    return Settings(
        length, stride, relevance=(0.0, 1.0, 0.0, 0.0, 0.0), answer=(0.0, 1.0), sentence=(0.0, 1.0, 0.0), threshold=0.0
    )


def settings_before(base: Path | None) -> Settings:
    """Return the settings of the model in `base`, or of the packaged model if `base` is only an encoder."""
    own = None if base is None else base / "reader.json"
    path = own if own is not None and own.exists() else PACKAGED / "reader.json"
    return msgspec.json.decode(path.read_bytes(), type=Settings)


class Retrieved(NamedTuple):
    """A row's question with passages that a retriever would return. `own` is the place of the row's own."""

    row: Row
    passages: list[Passage]
    own: int


def retrieved(rows: Sequence[Row]) -> list[Retrieved]:
    """Return for each row the most similar passages, its own among them, as a retriever orders them."""
    passages = list(dict.fromkeys(Passage(row.context, title=row.title) for row in rows))
    index = Neighbours([f"{passage.title} {passage.text}" for passage in passages])
    found = []
    for row in rows:
        own = Passage(row.context, title=row.title)
        near = [passages[n] for n in index.nearest(row.question, _OTHERS + 1)]
        ranked = near if own in near else [*near[:_OTHERS], own]
        found.append(Retrieved(row, ranked, ranked.index(own)))
    return found


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


class Asked(NamedTuple):
    """A question with the evidence in its passages, and which of them hold the answer.

    `rightness` is how right an answer is, `tells` whether a sentence has it.
    """

    evidence: Evidence
    holds: Sequence[bool]
    rightness: Callable[[str], float]
    tells: Callable[[str], bool]


def asked_of(engine: Marking, rows: Sequence[Retrieved]) -> list[Asked]:
    """Return the evidence for the questions of `rows`.

    If almost all questions are answerable, each is also asked without the passages that hold its answer.
    """
    found = []
    evidence = find_evidence(engine, [(one.row.question, one.passages) for one in rows])
    for one, own in zip(rows, evidence, strict=True):
        right, tells = partial(rightness, one.row), partial(contains_answer, answers=one.row.answers)
        found.append(Asked(own, [holds(one.row, each) for each in one.passages], right, tells))
    if sum(any(one.holds) for one in found) > _MAX_ANSWERABLE * len(found):
        found += [without_answer(one) for one in found if any(one.holds)]
    return found


def asked_over_documents(engine: Marking, groups: Sequence[Group]) -> list[Asked]:
    """Return the evidence for questions over documents, in the passages that the strategies get by default."""
    evidence = find_evidence(engine, [(one.question.question, one.passages[:_PASSAGES]) for one in groups])
    return [
        Asked(own, one.holds[:_PASSAGES], one.question.right, one.question.right)
        for one, own in zip(groups, evidence, strict=True)
    ]


def without_answer(asked: Asked) -> Asked:
    """Return the question without the passages that hold its answer."""
    left_out = {number for number, held in enumerate(asked.holds) if held}
    return asked._replace(evidence=without(asked.evidence, left_out), holds=[False] * len(asked.holds))


def calibrate(engine: Marking, rows: Sequence[Row], before: Settings, say: Callable[[str], None]) -> Settings:
    """Return the engine's settings with probabilities and thresholds fitted to the held-out `rows`.

    Every question is read with several passages, as from a retriever. Settings that the rows cannot determine keep
    their values of `before`.
    """
    if len(rows) < MIN_ROWS:
        say(f"{len(rows)} held-out rows are too few to calibrate: reader.json keeps the values of the initial model.")
        return msgspec.structs.replace(before, length=engine.settings.length, stride=engine.settings.stride)
    return fit(engine, [(engine, asked_of(engine, retrieved(rows)))], before, say)


def fit(
    engine: Marking,
    parts: Sequence[tuple[Marking, Sequence[Asked]]],
    before: Settings,
    say: Callable[[str], None] = print,
    *,
    also: Sequence[Asked] = (),
) -> Settings:
    """Return the engine's settings fitted to the questions of `parts`. Relevance is fitted to `also` as well, as much.

    A part has the engine that read its questions: `engine`, or one like it that did not learn from them.
    """
    groups = [each for own, asked in parts for each in _labelled(own, asked)]
    others = [_labelled(engine, also)] if also else []
    if not any(held.any() and not held.all() for _, held in groups):
        say("All held-out questions are answerable, or none: reader.json keeps the values of the initial model.")
        return msgspec.structs.replace(before, length=engine.settings.length, stride=engine.settings.stride)
    relevance = _relevance([groups, *others])
    lower, upper = _thresholds(groups, relevance)
    settings = msgspec.structs.replace(engine.settings, relevance=relevance, lower=lower, upper=upper)
    chosen = [each for own, asked in parts for each in _chosen(Refitted(own, settings), asked)]
    settings = msgspec.structs.replace(
        settings,
        answer=logistic(*_columns(sample for one, _ in chosen for sample in _answers(one, settings))),
        sentence=logistic(*_columns(_sentences(chosen))),
    )
    return msgspec.structs.replace(settings, threshold=_threshold([*_confidences(chosen, settings)]))


class Refitted:
    """An engine with other settings."""

    def __init__(self, engine: Marking, settings: Settings) -> None:
        self.settings = settings
        self.ends, self.tokens, self.mark, self.embed = engine.ends, engine.tokens, engine.mark, engine.embed


_Labelled = tuple[Floats, NDArray[np.bool_]]  # of a question: features of its passages, and which hold the answer


def _labelled(engine: Marking, asked: Sequence[Asked]) -> list[_Labelled]:
    features = passage_features(engine, [one.evidence for one in asked])
    return [
        (np.array([*own.values()]), np.array([one.holds[number] for number in own]))
        for one, own in zip(asked, features, strict=True)
        if own
    ]


def _relevance(sets: Sequence[Sequence[_Labelled]]) -> tuple[float, float, float, float, float]:
    """Return bias and weights of relevance.

    The weights make the passages with the answer the likeliest of their question (conditional logit). The bias makes
    the mean probability right.
    """
    informative = [[(features, held) for features, held in each if held.any() and not held.all()] for each in sets]
    scale = np.concatenate([features for each in informative for features, _ in each]).std(0) + 1e-9
    weighed = [(features / scale, held, 1 / len(each)) for each in informative for features, held in each]

    def loss(weights: Floats) -> tuple[float, Floats]:
        total, gradient = _PENALTY * float(weights @ weights), 2 * _PENALTY * weights
        for features, held, weight in weighed:
            scores = features @ weights
            everything, right = np.exp(scores - logsumexp(scores)), np.exp(scores - logsumexp(scores[held])) * held
            total += weight * float(logsumexp(scores) - logsumexp(scores[held]))
            gradient = gradient + weight * ((everything - right) @ features)
        return total, gradient

    weights = minimize(loss, np.zeros(4), jac=True, method="L-BFGS-B", bounds=[(0, None)] * 4).x / scale
    logits = [np.concatenate([features @ weights for features, _ in each]) for each in sets]
    shares = [float(np.concatenate([held for _, held in each]).mean()) for each in sets]

    def excess(bias: float) -> float:
        return sum(float(expit(each + bias).mean()) - share for each, share in zip(logits, shares, strict=True))

    margin, relevant, cosine, first = map(float, weights)
    return float(brentq(excess, -100, 100)), margin, relevant, cosine, first


def _columns(samples: Iterable[Sample]) -> tuple[Floats, Floats]:
    """Return features and labels as arrays."""
    features, labels = zip(*samples, strict=True)
    return np.array(features), np.array(labels)


def _answers(one: Asked, settings: Settings) -> Iterator[Sample]:
    """Yield for each source of a question the features of its answer, and whether it is right."""
    for choice in choose_each(one.evidence, settings):
        right = one.holds[choice.spans[0].passage] and one.rightness(answer(one, choice)) >= _RIGHT
        yield (1.0, choice.odds), float(right)


def _sentences(chosen: Iterable[tuple[Asked, list[Part]]]) -> Iterator[Sample]:
    """Yield the features of each question's first quote, and whether its sentence has the answer."""
    for one, parts in chosen:
        if parts:
            yield (1.0, *sentence_features(parts)[0]), float(_tells(one, parts[0]))


def _chosen(engine: Marking, asked: Sequence[Asked]) -> Iterator[tuple[Asked, list[Part]]]:
    """Yield each question with the parts that its quotes are of."""
    for one, parts in zip(asked, find_parts(engine, [one.evidence for one in asked]), strict=True):
        yield one, distinct(parts, one.evidence.passages)


def _tells(one: Asked, part: Part) -> bool:
    text = one.evidence.passages[part.passage].text
    if not any(one.holds) or part.best is None or part.best.place is None:
        return False
    first, last = sentence_at(text, *part.best.place)
    return one.tells(text[first:last])


def _confidences(chosen: Iterable[tuple[Asked, list[Part]]], settings: Settings) -> Iterator[float]:
    """Yield the greater confidence of the likeliest short answer and of the first quote's sentence."""
    for one, parts in chosen:
        score = max((each.confidence(settings) for each in choose_each(one.evidence, settings)), default=0.0)
        told = quotes(parts, one.evidence.passages, settings)
        yield max(score, told[0].score or 0.0 if told else 0.0)


def _threshold(confidences: Sequence[float]) -> float:
    """Return the lowest confidence from which the mean probability of the answers is `RIGHT_SHARE`."""
    ordered = np.sort(np.array(confidences))[::-1]
    means = np.cumsum(ordered) / np.arange(1, len(ordered) + 1)
    enough = ordered[means >= RIGHT_SHARE]
    return round(float(enough[-1]), 2) if len(enough) else RIGHT_SHARE


def answer(asked: Asked, choice: Choice) -> str:
    """Return the text of a choice."""
    best = choice.spans[0]
    return text_of(asked.evidence.passages[best.passage])[best.start : best.end]


def _thresholds(groups: Sequence[_Labelled], relevance: Sequence[float]) -> tuple[float, float]:
    """Return the scores `lower` and `upper` of a question's best passage."""
    bias, weights = relevance[0], np.array(relevance[1:])
    weights[-1] = 0.0  # an evaluator's texts are in no order
    best = np.array([(1.0, float((features @ weights).max() + bias)) for features, _ in groups])
    answerable = np.array([float(held.any()) for _, held in groups])
    if len(set(answerable)) < 2:
        return 0.0, 0.0
    first, slope = logistic(best, answerable)
    if not slope:  # the score has no effect
        return 0.0, 0.0
    lower, upper = (float(np.tanh((_log_odds(share) - first) / slope / 2)) for share in (1 - INCORRECT, CORRECT))
    return lower, upper  # tanh(x / 2) equals 2 * logistic(x) - 1


def _log_odds(probability: float) -> float:
    probability = min(max(probability, 1e-6), 1 - 1e-6)
    return float(np.log(probability / (1 - probability)))


def logistic(features: Floats, labels: Floats) -> tuple[float, ...]:
    """Return the weights of a logistic regression; the first feature is the constant 1.

    Features with a negative weight are dropped, because no evidence may count against what it supports.
    If all labels are equal, none has a weight.
    """
    weights = np.zeros(features.shape[1])
    used = list(range(1, features.shape[1]))
    while used and labels.min() < labels.max():
        model = LogisticRegression(solver="newton-cholesky", tol=1e-8).fit(features[:, used], labels)
        if model.coef_.min() >= 0:
            weights[0], weights[used] = model.intercept_[0], model.coef_[0]
            return tuple(map(float, weights))
        del used[int(model.coef_[0].argmin())]
    weights[0] = _log_odds(float(labels.mean()))
    return tuple(map(float, weights))
