"""From the result of the vote to an Answer: sides, citations and the certificate in words."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from robust_qa import Answer, Position
from robust_qa.kit import cite

from .voices import Voice
from .vote import SILENT, Election, consistent_sets, weights_of

_MOST_SIDES = 4
_NUMBERS = "no one two three four five six seven eight nine ten eleven twelve".split()
_SURE = 0.5  # confidence from which a single passage is worth showing as another side


def accepted(voices: Sequence[Voice], election: Election, withstands: int) -> Answer:
    """Return the chosen answer, with the other sides if they have more than one voice or are likely right."""
    total = sum(voice.weight for voice in voices)
    best, *others = _sides(voices, election, total)
    against = [side for side, members in others if len(members) > 1 or members[0].statements[0].sureness >= _SURE]
    return Answer(
        best[0].text,
        best[0].confidence,
        best[0].citations,
        (best[0], *against) if against else (),
        reason=_certificate(withstands, len(voices)) if withstands else "",
        details=_details(voices, election, total),
        withstands=withstands,
    )


def _certificate(withstands: int, sources: int) -> str:
    forged, all_of_them = (_NUMBERS[n] if n < len(_NUMBERS) else str(n) for n in (withstands, sources))
    return f"This would still stand if any {forged} of these {all_of_them} sources were forged."


def undecided(voices: Sequence[Voice], election: Election) -> Answer:
    """Return an abstention that shows the sides."""
    total = sum(voice.weight for voice in voices)
    sides = tuple(side for side, _ in _sides(voices, election, total))
    details = _details(voices, election, total)
    if not sides:
        return Answer(None, reason="No passage alone has an answer.", details=details)
    conflicts = tuple(Position(side.text, side.confidence, side.citations) for side in sides)
    return Answer(
        None,
        conflicts=conflicts if len(conflicts) > 1 else (),
        reason="The passages disagree, and no answer has a clear majority.",
        details=details,
    )


def _sides(voices: Sequence[Voice], election: Election, total: float) -> Iterator[tuple[Position, list[Voice]]]:
    """Yield the side of the vote's answer, then the heaviest sides without the answers before."""
    shown: set[str] = set()
    agreeing: Collection[str] = election.agreeing
    for _ in range(_MOST_SIDES):
        members = [voice for voice in voices if voice.ballot.answer in agreeing and voice.text]
        if not members:
            return
        yield _position(members, total, chosen=not shown), members
        shown |= set(agreeing)
        left = weights_of([voice.ballot for voice in voices if voice.ballot.answer not in shown])
        agreeing = max(consistent_sets(left), key=lambda each: sum(left[answer] for answer in each), default=())


def _position(members: Sequence[Voice], total: float, *, chosen: bool) -> Position:
    """Return the side of `members`: its heaviest answer, and the share of their weight times the mean confidence."""
    weights = weights_of([voice.ballot for voice in members])
    key = max(weights, key=weights.__getitem__)
    named = max(
        (voice for voice in members if voice.ballot.answer == key), key=lambda each: each.statements[0].sureness
    )
    share = sum(weights.values()) / total
    sureness = sum(voice.statements[0].sureness for voice in members) / len(members)
    said = (voice.statements[0] for voice in members)
    citations = dict.fromkeys(cite(each.passage, each.text, start=each.reading.start) for each in said)
    return Position(named.text, share * sureness, tuple(citations), chosen)


def _details(voices: Sequence[Voice], election: Election, total: float) -> dict[str, object]:
    return {
        "voices": [
            {
                "answer": voice.text or None,
                "weight": voice.weight,
                "passages": [statement.passage.id for statement in voice.statements],
                "agrees": voice.ballot.answer != SILENT and voice.ballot.answer in election.agreeing,
            }
            for voice in voices
        ],
        "support": election.support,
        "opposition": election.opposition,
        "total": total,
    }
