"""The vote over the answers of single passages: the heaviest set of answers without a contradiction decides.

Shen et al., "ReliabilityRAG", NeurIPS 2025, finds a maximum independent set of passages with a model of entailment.
Here answers contradict each other unless one contains all words of the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

SILENT = ""  # the answer of a ballot without one
SLACK = 1e-9  # sums of floats differ in their last digits


class Ballot(NamedTuple):
    """An answer in normal form, or SILENT, and its weight."""

    answer: str
    weight: float


class Election(NamedTuple):
    """The result of a vote.

    - `answer`: the heaviest answer of the heaviest consistent set, SILENT if there is none.
    - `agreeing`: that set.
    - `support`: its weight.
    - `opposition`: the weight of the heaviest consistent set without `answer`.
    - `needed`: how much `support` must exceed `opposition`.
    """

    answer: str
    agreeing: frozenset[str]
    support: float
    opposition: float
    needed: float

    @property
    def is_clear(self) -> bool:
        """Whether the answer is chosen."""
        return self.answer != SILENT and self.support - self.opposition > self.needed + SLACK


def elect(ballots: Sequence[Ballot], lead: float) -> Election:
    """Return the result of the vote. The winner needs a lead of more than the share `lead` of all answers."""
    weights = weights_of(ballots)
    sets = consistent_sets(weights)
    agreeing = max(sets, key=lambda each: sum(weights[answer] for answer in each), default=frozenset())
    # The first of equally heavy answers, in the order of the ballots.
    answer = max((each for each in weights if each in agreeing), key=weights.__getitem__, default=SILENT)
    support, opposition = balance(answer, weights, sets)
    return Election(answer, agreeing, support, opposition, lead * sum(weights.values()))


def balance(answer: str, weights: Mapping[str, float], sets: Collection[frozenset[str]]) -> tuple[float, float]:
    """Return the weight of the heaviest consistent set with `answer`, and of the heaviest without it."""
    with_it = (sum(weights[each] for each in members) for members in sets if answer in members)
    without = (sum(weights[each] for each in members - {answer}) for members in sets)
    return max(with_it, default=0.0), max(without, default=0.0)


def weights_of(ballots: Sequence[Ballot]) -> dict[str, float]:
    """Return the total weight of each answer, in the order of the ballots. Silent ballots do not count."""
    weights: dict[str, float] = defaultdict(float)
    for ballot in ballots:
        if ballot.answer != SILENT:
            weights[ballot.answer] += ballot.weight
    return dict(weights)


def consistent_sets(answers: Collection[str]) -> list[frozenset[str]]:
    """Return all largest possible sets of answers without a contradiction (Bron and Kerbosch, 1973)."""
    agree = {one: {other for other in answers if other != one and compatible(one, other)} for one in answers}
    found: list[frozenset[str]] = []

    def extend(members: frozenset[str], candidates: set[str], done: set[str]) -> None:
        if not candidates and not done:
            found.append(members)
            return
        pivot = max(sorted(candidates | done), key=lambda each: len(agree[each] & candidates))
        for answer in sorted(candidates - agree[pivot]):
            extend(members | {answer}, candidates & agree[answer], done & agree[answer])
            candidates, done = candidates - {answer}, done | {answer}

    if agree:
        extend(frozenset(), set(agree), set())
    return found


def compatible(one: str, other: str) -> bool:
    """Return whether two answers can both be right: one has all words of the other, or they differ only in spaces."""
    fewer, more = sorted((set(one.split()), set(other.split())), key=len)
    return fewer <= more or one.replace(" ", "") == other.replace(" ", "")
