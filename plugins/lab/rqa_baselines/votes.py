"""Vote among several replies to the same question."""

from __future__ import annotations

from collections.abc import Sequence

from robust_qa import Answer, Passage, Position
from robust_qa.kit import answer_key

from .replies import cited, find


def voted(replies: Sequence[str], *passages: Sequence[Passage], chosen: int | None = None) -> Answer:
    """Return the answer of most `replies` (ties go to the first), or that of the reply `chosen`.

    `passages` are those that all replies saw, or one sequence for each reply. Answers are compared after normalisation.
    Replies without an answer do not vote. The confidence is the share of all replies with this answer; other answers
    are a conflict. Abstains if no reply has an answer.
    """
    seen = passages if len(passages) == len(replies) else passages * len(replies)
    found = [find(reply, len(own)) for reply, own in zip(replies, seen, strict=True)]
    camps: dict[str, list[int]] = {}
    for number, one in enumerate(found):
        if one.answer:
            camps.setdefault(answer_key(one.answer), []).append(number)
    if not camps:
        return Answer(None, reason="No reply of the language model has an answer.")
    winner = max(camps.values(), key=lambda camp: (chosen in camp, len(camp)))
    positions = [
        Position(
            found[chosen if chosen is not None and chosen in camp else camp[0]].answer,
            len(camp) / len(replies),
            tuple(dict.fromkeys(citation for number in camp for citation in cited(found[number], seen[number]))),
            chosen=camp is winner,
        )
        for camp in sorted(camps.values(), key=lambda camp: camp is not winner)
    ]
    first = positions[0]
    return Answer(first.text, first.confidence, first.citations, tuple(positions) if len(positions) > 1 else ())
