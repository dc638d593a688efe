"""From scores to probabilities: logistic regression on rows that were held out of training (Platt, 1999)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

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
Sample = tuple[tuple[float, ...], float]  # what tells of something, and how right it is

WORTH = 0.06  # probability of being right below which an answer is not given; low, as retrieved passages are unlike
# those that it is fitted to, and doubt that is justified there is too strong for them
SURE = 2 / 3  # share of questions answered in their passages from which these count as Correct,
GONE = 0.75  # and of questions that are not, from which they count as Incorrect: to discard them takes more
FEW = 10  # rows; what is fitted to fewer tells of them alone
_OTHERS = 5  # passages beside a row's own
_MOST = 0.9  # share of questions answered in their passages above which the others are too few to fit bounds to


def uncalibrated(length: int, stride: int) -> Settings:
    """Settings that go by the margin alone and refuse nothing."""
    alone = (0.0, 1.0, 0.0, 0.0)
    return Settings(length, stride, span=alone, judge=(0.0, 1.0, 0.0, 0.0), answer=(0.0, 1.0, 0.0), threshold=0.0)


def settings_before(base: Path | None) -> Settings:
    """The settings of the model in `base`, or, where it is none that reads, of the packaged one."""
    own = None if base is None else base / "reader.json"
    path = own if own is not None and own.exists() else PACKAGED / "reader.json"
    return msgspec.json.decode(path.read_bytes(), type=Settings)


class Retrieved(NamedTuple):
    """A row's question over its own passage and others that a retriever would return with it."""

    row: Row
    passages: list[Passage]


def retrieved(rows: Sequence[Row]) -> list[Retrieved]:
    """Each row among the _OTHERS passages nearest to its question; what they hold decides what is right."""
    passages = list(dict.fromkeys(Passage(row.context, title=row.title) for row in rows))
    index = Neighbours([f"{passage.title} {passage.text}" for passage in passages])
    found = []
    for row in rows:
        own = Passage(row.context, title=row.title)
        near = [passages[n] for n in index.nearest(row.question, _OTHERS + 1)]
        found.append(Retrieved(row, [own, *(passage for passage in near if passage != own)][: _OTHERS + 1]))
    return found


def read(engine: Marking, asked: Sequence[Retrieved]) -> list[list[Marked]]:
    """The marked windows of each."""
    return marked_windows(engine, [(one.row.question, one.passages) for one in asked])


def rightness(row: Row, text: str) -> float:
    """How right an answer is: its F1; where only the sentence is known, whether it stands there."""
    if row.within is not None:
        sentence = normalise(row.context[row.within[0] : row.within[1]])
        return float(bool(normalise(text)) and normalise(text) in sentence)
    return f1(text, row.answers) if row.answers else 0.0


def holds(row: Row, passage: Passage) -> bool:
    """Whether `passage` tells the answer: the row's own does, and one with the very sentence. Words alone may not."""
    if not row.answerable:
        return False
    told = _sentence(row)
    return passage.text == row.context or (told != "" and told in passage.text)


def _sentence(row: Row) -> str:
    """The sentence that tells the answer, where that is known."""
    if row.within is not None:
        return row.context[row.within[0] : row.within[1]]
    if row.start is None:
        return ""
    return next((row.context[a:b] for a, b in sentences(row.context) if a <= row.start < b), "")


def calibrated(engine: Marking, rows: Sequence[Row], before: Settings, say: Callable[[str], None]) -> Settings:
    """The engine's settings with likelihoods and bounds fitted to `rows` that were held out.

    Every question is read over several passages, as a retriever returns them. An answer is given where it is as
    likely right as WORTH. What rows of one kind say nothing of stays as in `before`, and everything where they are few.
    """
    if len(rows) < FEW:
        say(f"Of the rows {len(rows)} are held out, too few to calibrate on: reader.json stays as in the model before.")
        return msgspec.structs.replace(before, length=engine.settings.length, stride=engine.settings.stride)

    def fitted(name: str, samples: Iterable[Sample]) -> tuple[float, ...]:
        found = list(samples)
        labels = [label for _, label in found]
        if len(set(labels)) > 1:
            return tuple(map(float, logistic(np.array([one for one, _ in found]), np.array(labels))))
        say(f"What is held out is all of one kind: {name} in reader.json stays as it was in the model before.")
        kept: tuple[float, ...] = getattr(before, name)
        return kept

    asked = retrieved(rows)
    marked = read(engine, asked)
    settings = engine.settings
    settings = msgspec.structs.replace(settings, span=fitted("span", _of_spans(asked, marked, settings)))
    settings = msgspec.structs.replace(settings, judge=fitted("judge", _of_passages(asked, marked, settings)))
    weights = fitted("answer", _of_choices(asked, marked, settings))
    bounds = _bounds(asked, marked, settings)
    if bounds is None:
        say("What is held out is all answered, or none: lower and upper in reader.json stay as in the model before.")
        bounds = before.lower, before.upper
    lower, upper = bounds
    return msgspec.structs.replace(settings, answer=weights, threshold=WORTH, lower=lower, upper=upper)


def _of_spans(asked: Sequence[Retrieved], marked: Sequence[list[Marked]], settings: Settings) -> Iterator[Sample]:
    """The likeliest span of each window, and how right it is."""
    for one, pairs in zip(asked, marked, strict=True):
        for window, marks in pairs:
            for span in spans(window, marks, settings)[:1]:
                words = text_of(one.passages[window.passage], span)
                yield (1.0, *span.evidence), rightness(one.row, words) if one.row.answerable else 0.0


def _of_passages(asked: Sequence[Retrieved], marked: Sequence[list[Marked]], settings: Settings) -> Iterator[Sample]:
    """Each passage, and whether it tells the answer."""
    for one, pairs in zip(asked, marked, strict=True):
        # Without its own passage, too: the likeliest of others tells an answer as well.
        for first, seen in enumerate((pairs, [pair for pair in pairs if pair[0].passage > 0])):
            found = weighed(one.passages, seen, settings)
            for passage, each in list(zip(one.passages, found, strict=True))[first:]:
                if each:
                    yield (1.0, *each), float(holds(one.row, passage))


def _of_choices(asked: Sequence[Retrieved], marked: Sequence[list[Marked]], settings: Settings) -> Iterator[Sample]:
    """The choice of each question that has one, and whether it is right."""
    for one, pairs in zip(asked, marked, strict=True):
        choice = chosen(one.passages, pairs, settings)
        if choice is not None:
            yield (1.0, *choice.features), float(rightness(one.row, answer(one, choice)) >= 0.5)


def _bounds(
    asked: Sequence[Retrieved], marked: Sequence[list[Marked]], settings: Settings
) -> tuple[float, float] | None:
    """The judge's scores under which a question's passages do not answer it, and from which they do.

    Where hardly a question is unanswered, each is also judged without its own passage. None where that does not help.
    """
    odds, answered = [], []

    def judge(one: Retrieved, pairs: list[Marked], first: int) -> None:
        best = max(judged(one.passages, pairs, settings)[first:], default=0.0)
        odds.append((1.0, _log_odds(best)))
        answered.append(float(any(holds(one.row, passage) for passage in one.passages[first:])))

    for one, pairs in zip(asked, marked, strict=True):
        judge(one, pairs, 0)
    if sum(answered) > _MOST * len(answered):
        for one, pairs in zip(asked, marked, strict=True):
            if others := [pair for pair in pairs if pair[0].passage > 0]:
                judge(one, others, 1)
    if len(set(answered)) < 2:
        return None
    bias, slope = logistic(np.array(odds), np.array(answered))
    if not slope:  # the score says nothing
        return 0.0, 0.0
    lower, upper = (float(np.tanh((_log_odds(share) - bias) / slope / 2)) for share in (1 - GONE, SURE))
    return lower, upper  # tanh(x / 2) is twice the logistic function of x, less one


def _log_odds(likely: float) -> float:
    likely = min(max(likely, 1e-6), 1 - 1e-6)
    return float(np.log(likely / (1 - likely)))


def answer(one: Retrieved, choice: Choice) -> str:
    """The words of a choice."""
    best: Span = choice.spans[0]
    return text_of(one.passages[best.passage], best)


def logistic(features: Floats, labels: Floats) -> Floats:
    """Logistic regression's weights by Newton's method, a penalty of 1 on all but the first feature.

    No evidence may count against what it speaks for: a feature with a negative weight is left out.
    """
    used = np.ones(features.shape[1], bool)
    while True:
        weights = np.zeros(features.shape[1])
        weights[used] = _newton(features[:, used], labels)
        against = used & (weights < 0)
        against[0] = False
        if not against.any():
            return weights
        used[weights == weights[against].min()] = False


def _newton(features: Floats, labels: Floats) -> Floats:
    weights = np.zeros(features.shape[1])
    ridge = np.diag([0.0] + [1.0] * (features.shape[1] - 1))
    for _ in range(50):
        likely = 1 / (1 + np.exp(-np.clip(features @ weights, -30, 30)))
        gradient = features.T @ (likely - labels) + ridge @ weights
        curvature = (features.T * (likely * (1 - likely))) @ features + ridge + 1e-9 * np.eye(len(weights))
        step = np.linalg.solve(curvature, gradient)
        weights -= step
        if np.abs(step).max() < 1e-8:
            break
    return weights
