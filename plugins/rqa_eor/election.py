"""One question's vote: its answers compared, one elected by score, and all grouped by what they say."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .asking import Reply, Said
from .voting import Pooling, scores, similarity, winners

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from robust_qa import Toolbox

    from .similarity import Similarity

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Voter:
    """The parameters of Equations 6 and 7 but for the weights, which are the retrievers'."""

    similarities: Mapping[str, Similarity]
    lambdas: Sequence[float]  # of each of them
    pooling: Pooling
    threshold: float


@dataclass(frozen=True, slots=True)
class Vote:
    """What one retriever votes for: the one of its replies that its samples elected, None where it has none."""

    said: Said
    weight: float
    reply: Reply | None
    score: float | None


@dataclass(frozen=True, slots=True)
class Group:
    """Votes for equivalent answers, the highest score first, whose answer is `text`.

    `share` is their part of the weight of all retrievers that were asked; `agreement` the mean similarity of their
    answers, 1 being that of equal ones, None where there is one vote.
    """

    text: str
    votes: tuple[Vote, ...]
    share: float
    agreement: float | None


@dataclass(frozen=True, slots=True)
class Election:
    """How a question's vote went: the votes in the order of the pool, and the groups, the winner's first.

    `tensor` (k, d, d) has what each similarity function says of the d different `answers`.
    """

    votes: tuple[Vote, ...]
    groups: tuple[Group, ...]
    answers: tuple[str, ...]
    tensor: Floats


async def elect(
    question: str, toolbox: Toolbox, said: Sequence[Said], weights: Sequence[float], voter: Voter
) -> Election:
    """Let the answers of the retrievers vote.

    The samples of one retriever vote among themselves first, with equal weights, and the one they elect votes for it
    (hierarchical voting).
    """
    import numpy as np

    answers = tuple(dict.fromkeys(reply.text for one in said for reply in one.replies))
    if not answers:
        unheard = tuple(Vote(one, weight, None, None) for one, weight in zip(said, weights, strict=True))
        return Election(unheard, (), (), np.zeros((len(voter.similarities), 0, 0)))
    places = {text: place for place, text in enumerate(answers)}
    compared = await asyncio.gather(*(compare(question, answers, toolbox) for compare in voter.similarities.values()))
    tensor, lambdas = np.stack(compared), np.array(voter.lambdas)

    def poll(replies: Sequence[Reply], weighed: Sequence[float]) -> tuple[list[float], int]:
        """The score of each, and the position of the winner."""
        at, weighing = [places[reply.text] for reply in replies], np.array(weighed)
        ballot, present = tensor[:, at][:, :, at][None], np.ones((1, len(at)), dtype=bool)
        scored = scores(ballot, present, weighing, lambdas, voter.pooling, threshold=voter.threshold)
        return scored[0].tolist(), int(winners(scored, weighing)[0])

    elected = {
        n: one.replies[poll(one.replies, [1.0] * len(one.replies))[1]] for n, one in enumerate(said) if one.replies
    }
    scored, winner = poll(list(elected.values()), [weights[n] for n in elected])
    score = dict(zip(elected, scored, strict=True))
    votes = tuple(Vote(one, weights[n], elected.get(n), score.get(n)) for n, one in enumerate(said))

    first = list(elected)[winner]
    ranked = sorted(elected, key=lambda n: (n != first, -score[n], -weights[n], n))
    alike = similarity(tensor[None], lambdas)[0] / lambdas.sum()
    groups = tuple(
        Group(
            elected[members[0]].text,
            tuple(votes[n] for n in members),
            min(sum(weights[n] for n in members) / sum(weights), 1.0),
            _agreement([places[elected[n].text] for n in members], alike),
        )
        for members in _grouped(ranked, {n: places[elected[n].text] for n in ranked}, alike, voter.threshold)
    )
    return Election(votes, groups, answers, tensor)


def _grouped(ranked: Sequence[int], places: Mapping[int, int], alike: Floats, threshold: float) -> list[list[int]]:
    """Each joins the first group whose highest answer is equivalent to its own, or opens another."""
    groups: list[list[int]] = []
    for n in ranked:
        for group in groups:
            one, other = places[n], places[group[0]]
            if one == other or alike[one, other] >= threshold - 1e-6:
                group.append(n)
                break
        else:
            groups.append([n])
    return groups


def _agreement(places: Sequence[int], alike: Floats) -> float | None:
    pairs = [alike[one, other] for n, one in enumerate(places) for other in places[:n]]
    return float(sum(pairs) / len(pairs)) if pairs else None
