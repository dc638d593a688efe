"""How many planted passages the result of a vote withstands.

Threat: an attacker chooses any k of the retrieved passages and what a reader answers from each; ranks and sources stay.
Theorem: if every choice of k ballots leaves `support - opposition - their weight > needed`, and leaves the answer more
than their weight ahead of each answer compatible with it, then the vote gives the same answer whatever they say.
Proof: what they say adds at most their weight to the opposition or to one answer, and takes nothing from the support
of the others. So every heaviest set has the answer, the answer is the heaviest in it, and the lead is large enough.
A planted passage spoils one ballot at most. Of equal ballots the heaviest is the worst to lose, so counts suffice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .vote import SLACK, Ballot, balance, compatible, consistent_sets, elect, weights_of


class _Loss(NamedTuple):
    """The ballots that an attacker takes: their weight, and what each answer loses."""

    weight: float
    by_answer: dict[str, float]


def withstands(ballots: Sequence[Ballot], lead: float) -> int:
    """Return the largest k such that no k ballots, whatever they say, change the answer of `elect`.

    0 if it has no clear answer. The time grows fast with the number of ballots; 20 take less than a second.
    """
    count = 0
    while count < len(ballots) and _holds(ballots, lead, count + 1):
        count += 1
    return count


def _holds(ballots: Sequence[Ballot], lead: float, count: int) -> bool:
    result = elect(ballots, lead)
    if not result.is_clear:
        return False
    weights = weights_of(ballots)
    sets = consistent_sets(weights)
    near = [other for other in weights if other != result.answer and compatible(other, result.answer)]
    for loss in _losses(ballots, count):
        left = {answer: weight - loss.by_answer.get(answer, 0.0) for answer, weight in weights.items()}
        support, opposition = balance(result.answer, left, sets)
        nearest = max((left[other] for other in near), default=0.0)
        needed = lead * (sum(left.values()) + loss.weight)
        if support - opposition - loss.weight <= needed + 2 * SLACK:
            return False
        if left[result.answer] - nearest - loss.weight <= SLACK:
            return False
    return True


def _losses(ballots: Sequence[Ballot], count: int) -> Iterator[_Loss]:
    """Yield the worst choices of `count` ballots: some of each answer, the heaviest first."""
    groups: dict[str, list[float]] = defaultdict(list)
    for ballot in ballots:
        groups[ballot.answer].append(ballot.weight)
    sums = {answer: _sums(sorted(group, reverse=True)) for answer, group in groups.items()}

    def choose(answers: Sequence[str], rest: int) -> Iterator[_Loss]:
        if not answers:
            if rest == 0:
                yield _Loss(0.0, {})
            return
        answer, *others = answers
        for number, weight in enumerate(sums[answer][: rest + 1]):
            for loss in choose(others, rest - number):
                yield _Loss(loss.weight + weight, {**loss.by_answer, answer: weight})

    return choose(list(sums), count)


def _sums(weights: Sequence[float]) -> list[float]:
    """Return the sums of the first 0, 1, 2, ... weights."""
    sums = [0.0]
    for weight in weights:
        sums.append(sums[-1] + weight)
    return sums
