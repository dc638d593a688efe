"""Where Corrective RAG's actions begin: thresholds for an evaluator's scores, chosen on questions with known answers.

A question's best score decides its action: at least `upper`, Correct; under `lower`, Incorrect; else Ambiguous
(Yan et al., 2024, section 4.3). The right action is Correct where a passage is relevant, and Incorrect where none is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robust_qa import InputError

# The paper's own pairs for its T5-large (appendix B.3), by data set.
PRESETS = {"popqa": (0.59, -0.99), "pubqa": (0.5, -0.91), "arc": (0.5, -0.91), "bio": (0.95, -0.91)}


@dataclass(frozen=True, slots=True)
class Judged:
    """A question's scores, and which of its texts are relevant."""

    scores: tuple[float, ...]
    relevant: tuple[bool, ...]

    @property
    def best(self) -> float:
        """The score that decides the action; -1 when there is no text."""
        return max(self.scores, default=-1.0)

    @property
    def answerable(self) -> bool:
        """Whether any text is relevant."""
        return any(self.relevant)


@dataclass(frozen=True, slots=True)
class Point:
    """What a threshold does: the share of questions at or above it, how many of those are answerable, how many of
    those under it are not, and the accuracy of the action when it alone decides. Shares are None of nothing.
    """

    threshold: float
    above: float
    answerable_above: float | None
    unanswerable_below: float | None
    accuracy: float


def curve(judged: Sequence[Judged], thresholds: Sequence[float]) -> list[Point]:
    """What each of `thresholds` does to the questions."""
    best, answerable = _arrays(judged)
    points = []
    for threshold in thresholds:
        above = best >= threshold
        right = np.where(above, answerable, ~answerable)
        points.append(
            Point(
                threshold,
                float(above.mean()),
                float(answerable[above].mean()) if above.any() else None,
                float((~answerable[~above]).mean()) if (~above).any() else None,
                float(right.mean()),
            )
        )
    return points


def steps(judged: Sequence[Judged]) -> list[float]:
    """Thresholds that part the questions into twenty shares of about the same size."""
    best, _ = _arrays(judged)
    inner = np.quantile(best, np.linspace(0, 1, 21)[1:-1])
    return sorted({round(float(value), 3) for value in inner})


def single(judged: Sequence[Judged]) -> tuple[float, float]:
    """The one threshold with the best accuracy of Correct against Incorrect, and that accuracy."""
    best, answerable = _arrays(judged)
    upper, _ = choose(judged, ambiguous=0.5)
    return upper, float(np.where(best >= upper, answerable, ~answerable).mean())


def choose(judged: Sequence[Judged], *, ambiguous: float = 0.65) -> tuple[float, float]:
    """(upper, lower) with the most right actions, where an Ambiguous one counts `ambiguous` of a right one.

    So an action is taken only where it is right more often than that. `ambiguous` of 0.5 leaves no room between the
    two; it must be from 0.5 to 1. Raises InputError when there are no questions of both kinds.
    """
    best, answerable = _arrays(judged)
    need_both(answerable.tolist())
    order = np.argsort(best, kind="stable")
    scores, gain = best[order], answerable[order].astype(float)
    # At place n, questions n and above are Correct; likewise those before n Incorrect.
    correct = np.append(np.cumsum((gain - ambiguous)[::-1])[::-1], 0.0)
    incorrect = np.insert(np.cumsum((1 - gain) - ambiguous), 0, 0.0)
    # Equal scores share an action, and none is above 1.
    apart = np.concatenate([[True], scores[1:] > scores[:-1], scores[-1:] < 1])
    top = int(np.argmax(np.where(apart, correct, -np.inf)))
    bottom = int(np.argmax(np.where(apart, incorrect, -np.inf)))
    upper = midway(scores, top)
    return upper, min(upper, midway(scores, bottom))


def need_both(answerable: Sequence[bool]) -> None:
    """Raise InputError unless there are questions of both kinds."""
    if len(set(answerable)) < 2:
        raise InputError(
            f"Thresholds cannot be chosen: of {len(answerable)} questions {sum(answerable)} have a relevant passage.",
            hint="Calibrate on questions of both kinds, with and without a passage that answers.",
        )


def action_accuracy(judged: Sequence[Judged], upper: float, lower: float) -> tuple[float, float]:
    """The share of right actions among those that are not Ambiguous, and the share of Ambiguous ones."""
    best, answerable = _arrays(judged)
    ambiguous = (best < upper) & (best >= lower)
    right = np.where(best >= upper, answerable, ~answerable)[~ambiguous]
    return (float(right.mean()) if right.size else float("nan")), float(ambiguous.mean())


def auc(scores: Sequence[float], positive: Sequence[bool]) -> float:
    """The area under the ROC curve: how often a positive scores above a negative, a tie counting half.

    NaN when there are none of one kind.
    """
    values, flags = np.asarray(scores, float), np.asarray(positive, bool)
    count = int(flags.sum())
    if not count or count == len(flags):
        return float("nan")
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    return float((ranks[flags].sum() - count * (count + 1) / 2) / (count * (len(flags) - count)))


def _arrays(
    judged: Sequence[Judged],
) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    return np.array([one.best for one in judged]), np.array([one.answerable for one in judged], bool)


def midway(scores: np.ndarray[tuple[int], np.dtype[np.float64]], place: int) -> float:
    """A threshold that `place` scores lie under, in few digits, in [-1, 1]."""
    below = scores[place - 1] if place else -1.0
    above = scores[place] if place < len(scores) else 1.0
    for digits in (2, 3, 4, 6):
        threshold = round(float((below + above) / 2), digits)
        if below < threshold <= above:
            return threshold
    return float(above)
