"""Robustness cards: what planted passages do to a strategy, by attack and number of planted passages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .scoring import Scores

CARD_METRICS = ("accuracy", "wrong", "unanswered", "attack-success")


class Line(msgspec.Struct, frozen=True):
    """The questions with that number of passages planted by an attack ("" without any).

    `withstood`: of the questions that are right without planted passages, the share that still is.
    """

    attack: str
    planted: int
    questions: int
    accuracy: float | None
    wrong: float | None
    unanswered: float | None
    false_answer: float | None
    withstood: float | None


class Card(msgspec.Struct, frozen=True):
    """The card of a strategy."""

    strategy: str
    lines: list[Line]


class Robustness(msgspec.Struct, frozen=True):
    """The cards of a run, and a digest of its questions and passages: cards of equal digests can be compared."""

    questions: str
    cards: list[Card]


def cards(scores: Scores) -> list[Card]:
    """Return a card for each strategy. Empty unless every question was asked with and without planted passages."""
    asked = scores.questions
    untouched: dict[tuple[str, int], int] = {}  # the first time that a question was asked without planted passages
    for place, one in enumerate(asked):
        if not one.planted:
            untouched.setdefault((one.set, one.source_row), place)
    first = [untouched.get((one.set, one.source_row)) for one in asked]
    if None in first or len(untouched) == len(asked):
        return []
    keys = dict.fromkeys((one.attack, one.planted) for one in asked if one.planted)
    attacks = list(dict.fromkeys(attack for attack, _ in keys))
    rows = {("", 0): list(untouched.values())}
    for key in sorted(keys, key=lambda key: (attacks.index(key[0]), key[1])):
        rows[key] = [place for place, one in enumerate(asked) if (one.attack, one.planted) == key]
    found = []
    for strategy, columns in scores.columns.items():
        values = {name: np.asarray(columns[name]) for name in CARD_METRICS}
        right = values["accuracy"]
        lines = []
        for (attack, planted), places in rows.items():
            accuracy, wrong, unanswered, false = (_mean(values[name][places]) for name in CARD_METRICS)
            right_before = [place for place in places if right[first[place]] == 1]
            withstood = _mean(right[right_before]) if planted else None
            lines.append(Line(attack, planted, len(places), accuracy, wrong, unanswered, false, withstood))
        found.append(Card(strategy, lines))
    return found


def _mean(values: NDArray[np.float64]) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else None
