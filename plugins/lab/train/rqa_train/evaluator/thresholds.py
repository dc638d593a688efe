"""Choose the thresholds of Corrective RAG's actions on questions with known answers.

The best score of a question decides its action: Correct from `upper` on, Incorrect below `lower`, otherwise Ambiguous
(Yan et al., 2024, section 4.3). Correct is right if a passage is relevant, Incorrect if none is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robust_qa import InputError

# The paper's (upper, lower) for its T5-large (appendix B.3), by data set.
PRESETS = {"popqa": (0.59, -0.99), "pubqa": (0.5, -0.91), "arc": (0.5, -0.91), "bio": (0.95, -0.91)}


@dataclass(frozen=True, slots=True)
class Judged:
    """The scores and the relevance of a question's texts."""

    scores: tuple[float, ...]
    relevant: tuple[bool, ...]

    @property
    def best(self) -> float:
        """Return the score that decides the action, or -1 without texts."""
        return max(self.scores, default=-1.0)

    @property
    def answerable(self) -> bool:
        """Return whether any text is relevant."""
        return any(self.relevant)


@dataclass(frozen=True, slots=True)
class Point:
    """The effect of one threshold.

    `above` is the share of questions at or above it, `answerable_above` the share of answerable ones among them, and
    `unanswerable_below` the share of unanswerable ones below. Both are None if there are no such questions.
    `accuracy` is that of Correct and Incorrect with this threshold alone.
    """

    threshold: float
    above: float
    answerable_above: float | None
    unanswerable_below: float | None
    accuracy: float


def curve(judged: Sequence[Judged], thresholds: Sequence[float]) -> list[Point]:
    """Return the effect of each threshold on the questions."""
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
    """Return the thresholds that split the questions into twenty equal parts."""
    best, _ = _arrays(judged)
    inner = np.quantile(best, np.linspace(0, 1, 21)[1:-1])
    return sorted({round(float(value), 3) for value in inner})


def single(judged: Sequence[Judged]) -> tuple[float, float]:
    """Return the single threshold with the best accuracy of Correct and Incorrect, and that accuracy."""
    best, answerable = _arrays(judged)
    upper, _ = choose(judged, ambiguous=0.5)
    return upper, float(np.where(best >= upper, answerable, ~answerable).mean())


def choose(judged: Sequence[Judged], *, ambiguous: float = 0.65) -> tuple[float, float]:
    """Return (upper, lower) with the most right actions. An Ambiguous action counts as `ambiguous` right ones.

    `ambiguous` is from 0.5 to 1; with 0.5 the two thresholds are equal. Raises InputError unless some questions are
    answerable and some are not.
    """
    best, answerable = _arrays(judged)
    require_both(answerable.tolist())
    order = np.argsort(best, kind="stable")
    scores, gain = best[order], answerable[order].astype(float)
    # correct[n]: value if questions from n on are Correct; incorrect[n]: if those before n are Incorrect.
    correct = np.append(np.cumsum((gain - ambiguous)[::-1])[::-1], 0.0)
    incorrect = np.insert(np.cumsum((1 - gain) - ambiguous), 0, 0.0)
    # Equal scores share an action, and no score is above 1.
    distinct = np.concatenate([[True], scores[1:] > scores[:-1], scores[-1:] < 1])
    top = int(np.argmax(np.where(distinct, correct, -np.inf)))
    bottom = int(np.argmax(np.where(distinct, incorrect, -np.inf)))
    upper = midway(scores, top)
    return upper, min(upper, midway(scores, bottom))


def require_both(answerable: Sequence[bool]) -> None:
    """Raise InputError unless some questions are answerable and some are not."""
    if len(set(answerable)) < 2:
        raise InputError(
            f"Cannot choose thresholds: {sum(answerable)} of {len(answerable)} questions have a relevant passage.",
            hint="Use data with both answerable and unanswerable questions.",
        )


def action_accuracy(judged: Sequence[Judged], upper: float, lower: float) -> tuple[float, float]:
    """Return the accuracy of the actions that are not Ambiguous, and the share of Ambiguous ones."""
    best, answerable = _arrays(judged)
    ambiguous = (best < upper) & (best >= lower)
    right = np.where(best >= upper, answerable, ~answerable)[~ambiguous]
    return (float(right.mean()) if right.size else float("nan")), float(ambiguous.mean())


def _arrays(
    judged: Sequence[Judged],
) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    return np.array([one.best for one in judged]), np.array([one.answerable for one in judged], bool)


def midway(scores: np.ndarray[tuple[int], np.dtype[np.float64]], place: int) -> float:
    """Return a threshold in [-1, 1], with few digits, that is above exactly `place` of the sorted scores."""
    below = scores[place - 1] if place else -1.0
    above = scores[place] if place < len(scores) else 1.0
    for digits in (2, 3, 4, 6):
        threshold = round(float((below + above) / 2), digits)
        if below < threshold <= above:
            return threshold
    return float(above)
