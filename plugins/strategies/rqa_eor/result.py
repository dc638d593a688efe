"""Build the Answer, its details and the trace notes from an election."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from robust_qa import Answer, Citation, Position

from .election import Election, Group, Voter

_MAX_CHARACTERS = 60  # of an answer inside a sentence


def build_answer(election: Election, voter: Voter, left_out: Mapping[str, str]) -> Answer:
    """Return the winner's answer with its group's confidence. Several groups are a conflict."""
    details = _details(election, voter, left_out)
    if not election.groups:
        return Answer(None, reason=f"None of {len(election.votes)} retrievers leads to an answer.", details=details)
    winner, *others = election.groups
    conflicts = tuple(
        Position(group.text, _confidence(group), _citations(group), chosen=group is winner) for group in election.groups
    )
    sides = [f"Said by {_names(winner)}", *(f"{_shorten(group.text)!r} by {_names(group)}" for group in others)]
    return Answer(
        winner.text,
        _confidence(winner),
        _citations(winner),
        conflicts if others else (),
        reason=f"{'; '.join(sides)}.",
        details=details,
    )


def describe_group(group: Group) -> str:
    """Return one line about the group for the trace."""
    agreement = "" if group.agreement is None else f", whose answers are {group.agreement:.0%} alike"
    return f"{_shorten(group.text)!r} has {group.share:.0%} of the vote, by {_names(group)}{agreement}"


def _details(election: Election, voter: Voter, left_out: Mapping[str, str]) -> dict[str, Any]:
    """Return all inputs of the vote, for `rqa train eor` and for reports on inconsistency.

    Each passage and each answer is listed once. Retrievers refer to passages by number, from 1.
    """
    passages = list(dict.fromkeys(passage for vote in election.votes for passage in vote.result.passages))
    numbers = {passage: number for number, passage in enumerate(passages, start=1)}
    return {
        "retrievers": [
            {
                "retriever": vote.result.retriever,
                "weight": vote.weight,
                "answer": vote.reply.text if vote.reply else None,
                "score": vote.score,
                "passages": [numbers[passage] for passage in vote.result.passages],
                "error": vote.result.error.message if vote.result.error else "",
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
                "retrievers": [vote.result.retriever for vote in group.votes],
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
    """Return the group's share of the vote, times the reader's mean confidence if the reader gives one."""
    scores = [vote.reply.score for vote in group.votes if vote.reply and vote.reply.score is not None]
    return group.share * sum(scores) / len(scores) if scores else group.share


def _citations(group: Group) -> tuple[Citation, ...]:
    return tuple(dict.fromkeys(c for vote in group.votes if vote.reply for c in vote.reply.citations))


def _names(group: Group) -> str:
    return ", ".join(vote.result.retriever for vote in group.votes)


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_CHARACTERS else line[: _MAX_CHARACTERS - 1] + "…"
