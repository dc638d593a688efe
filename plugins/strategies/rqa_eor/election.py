"""One question's vote: compare the answers, elect one, and group equivalent answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .answers import Reply, RetrieverResult
from .voting import Pooling, scores, similarity, winners

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from robust_qa import Toolbox

    from .similarity import Similarity

    Floats = NDArray[np.float64]

_TOLERANCE = 1e-6  # of the threshold, for rounding errors


@dataclass(frozen=True, slots=True)
class Voter:
    """The parameters of Equations 6 and 7, except the weights of the retrievers."""

    similarities: Mapping[str, Similarity]
    lambdas: Sequence[float]  # one for each similarity
    pooling: Pooling
    threshold: float


@dataclass(frozen=True, slots=True)
class Vote:
    """The reply that one retriever votes for, with its score. Both are None if there is no reply."""

    result: RetrieverResult
    weight: float
    reply: Reply | None
    score: float | None


@dataclass(frozen=True, slots=True)
class Group:
    """Votes for equivalent answers, best score first; `text` is the answer of the first.

    `share` is their share of the total weight of the pool. `agreement` is the mean similarity of their answers (1:
    equal), or None for a single vote.
    """

    text: str
    votes: tuple[Vote, ...]
    share: float
    agreement: float | None


@dataclass(frozen=True, slots=True)
class Election:
    """The votes in the order of the pool, and the groups, winner first.

    `tensor` (k, d, d) holds the k similarities of the d different `answers`.
    """

    votes: tuple[Vote, ...]
    groups: tuple[Group, ...]
    answers: tuple[str, ...]
    tensor: Floats


async def elect(
    question: str, toolbox: Toolbox, results: Sequence[RetrieverResult], weights: Sequence[float], voter: Voter
) -> Election:
    """Let the retrievers' answers vote.

    The samples of a retriever first vote among themselves with equal weights. Their winner is the retriever's vote.
    """
    import numpy as np

    answers = tuple(dict.fromkeys(reply.text for result in results for reply in result.replies))
    if not answers:
        no_votes = tuple(Vote(result, weight, None, None) for result, weight in zip(results, weights, strict=True))
        return Election(no_votes, (), (), np.zeros((len(voter.similarities), 0, 0)))
    positions = {text: position for position, text in enumerate(answers)}
    matrices = await asyncio.gather(*(compare(question, answers, toolbox) for compare in voter.similarities.values()))
    tensor, lambdas = np.stack(matrices), np.array(voter.lambdas)

    def poll(replies: Sequence[Reply], reply_weights: Sequence[float]) -> tuple[list[float], int]:
        """Return the score of each reply and the index of the winner."""
        at, w = [positions[reply.text] for reply in replies], np.array(reply_weights)
        ballot, present = tensor[:, at][:, :, at][None], np.ones((1, len(at)), dtype=bool)
        scored = scores(ballot, present, w, lambdas, voter.pooling, threshold=voter.threshold)
        return scored[0].tolist(), int(winners(scored, w)[0])

    elected = {
        n: result.replies[poll(result.replies, [1.0] * len(result.replies))[1]]
        for n, result in enumerate(results)
        if result.replies
    }
    reply_scores, best = poll(list(elected.values()), [weights[n] for n in elected])
    score = dict(zip(elected, reply_scores, strict=True))
    votes = tuple(Vote(result, weights[n], elected.get(n), score.get(n)) for n, result in enumerate(results))

    # A retriever that found no passages, or failed, has no vote to lose.
    total = sum(
        weights[n] for n, result in enumerate(results) if result.replies or (result.passages and not result.error)
    )
    winner = list(elected)[best]
    ranked = sorted(elected, key=lambda n: (n != winner, -score[n], -weights[n], n))
    similar = similarity(tensor[None], lambdas)[0] / lambdas.sum()
    position = {n: positions[elected[n].text] for n in ranked}
    groups = tuple(
        Group(
            elected[members[0]].text,
            tuple(votes[n] for n in members),
            min(sum(weights[n] for n in members) / total, 1.0),
            _agreement([position[n] for n in members], similar),
        )
        for members in _group(ranked, position, similar, voter.threshold)
    )
    return Election(votes, groups, answers, tensor)


def _group(ranked: Sequence[int], position: Mapping[int, int], similar: Floats, threshold: float) -> list[list[int]]:
    """Put each vote into the first group whose best answer is equivalent to its own, or into a new group."""
    groups: list[list[int]] = []
    for n in ranked:
        for group in groups:
            one, other = position[n], position[group[0]]
            if one == other or similar[one, other] >= threshold - _TOLERANCE:
                group.append(n)
                break
        else:
            groups.append([n])
    return groups


def _agreement(positions: Sequence[int], similar: Floats) -> float | None:
    pairs = [similar[one, other] for n, one in enumerate(positions) for other in positions[:n]]
    return float(sum(pairs) / len(pairs)) if pairs else None
