"""The account of an election: the Answer with its sides, its details, and the notes in the trace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from robust_qa import Answer, Citation, Position

from .election import Election, Group, Voter

_LONGEST = 60  # characters of an answer in a sentence


def outcome(election: Election, voter: Voter, left_out: Mapping[str, str]) -> Answer:
    """The winner's answer with the confidence of its group; groups that differ are a conflict."""
    details = _details(election, voter, left_out)
    if not election.groups:
        return Answer(None, reason=f"None of {len(election.votes)} retrievers leads to an answer.", details=details)
    winner, *others = election.groups
    conflicts = tuple(
        Position(group.text, _confidence(group), _citations(group), chosen=group is winner) for group in election.groups
    )
    sides = [f"Said by {_names(winner)}", *(f"{_shortened(group.text)!r} by {_names(group)}" for group in others)]
    return Answer(
        winner.text,
        _confidence(winner),
        _citations(winner),
        conflicts if others else (),
        reason=f"{'; '.join(sides)}.",
        details=details,
    )


def explained(group: Group) -> str:
    """A group in a line, for the trace."""
    agreeing = "" if group.agreement is None else f", whose answers are {group.agreement:.0%} alike"
    return f"{_shortened(group.text)!r} has {group.share:.0%} of the vote, by {_names(group)}{agreeing}"


def _details(election: Election, voter: Voter, left_out: Mapping[str, str]) -> dict[str, Any]:
    """All that the vote was made of: from this `rqa train eor` learns, and inconsistency is reported.

    Passages and answers are each there once; `passages` of a retriever are their numbers, from 1.
    """
    passages = list(dict.fromkeys(passage for vote in election.votes for passage in vote.said.passages))
    numbers = {passage: number for number, passage in enumerate(passages, start=1)}
    return {
        "retrievers": [
            {
                "retriever": vote.said.retriever,
                "weight": vote.weight,
                "answer": vote.reply.text if vote.reply else None,
                "score": vote.score,
                "passages": [numbers[passage] for passage in vote.said.passages],
                "error": vote.said.error.message if vote.said.error else "",
            }
            for vote in election.votes
        ],
        "left_out": dict(left_out),
        "pooling": voter.pooling,
        "threshold": voter.threshold,
        "lambdas": dict(zip(voter.similarities, voter.lambdas, strict=True)),
        "groups": [
            {
                "answer": group.text,
                "retrievers": [vote.said.retriever for vote in group.votes],
                "share": group.share,
                "agreement": group.agreement,
            }
            for group in election.groups
        ],
        "answers": list(election.answers),
        "similarities": dict(zip(voter.similarities, election.tensor.round(12).tolist(), strict=True)),
        "passages": [{"id": passage.id, "title": passage.title, "text": passage.text} for passage in passages],
    }


def _confidence(group: Group) -> float:
    """Its share, times how sure the reader is on average, where it tells: many may agree on what each doubts."""
    scores = [vote.reply.score for vote in group.votes if vote.reply and vote.reply.score is not None]
    return group.share * sum(scores) / len(scores) if scores else group.share


def _citations(group: Group) -> tuple[Citation, ...]:
    cited: Iterable[Citation] = (c for vote in group.votes if vote.reply for c in vote.reply.citations)
    return tuple(dict.fromkeys(cited))


def _names(group: Group) -> str:
    return ", ".join(vote.said.retriever for vote in group.votes)


def _shortened(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST else flat[: _LONGEST - 1] + "…"
