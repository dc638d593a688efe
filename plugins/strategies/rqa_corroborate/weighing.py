"""Weigh the answers of independent sources.

The reader reads each source alone, and says how likely its answer is right. If several sources give one answer, at
least one of them is right with the probability 1 - (1 - p1)(1 - p2)... (noisy-or; Pearl, 1988). But that is a
probability about words, and sources that lie say clear words. So it is multiplied by the side's share of the votes,
and a source has one voice, however clear its words are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from robust_qa.kit import content_terms, words
from rqa_claims import may_agree

from .sources import Source, Statement

# Least confidence of a source that has a voice. With 0.35, where an answer is probable, all right answers were told for
# .31 of 120 questions of RAMDocs, and without a planted one for .18; with this, for .34 and .20.
VOICE = 0.2
_CONTRADICTS = 0.1  # least confidence of a source that is heard because its sentence says another thing of the same
_MENTION = 0.5  # least voice of a source whose likeliest answer is that of others, though it does not tell it clearly


@dataclass(frozen=True)
class Side:
    """The sources that give one answer, in more or fewer words, the surest first."""

    statements: tuple[Statement, ...]
    confidence: float

    @property
    def best(self) -> Statement:
        """The surest statement. Its words stand for the side."""
        return self.statements[0]

    @property
    def sources(self) -> list[Source]:
        return [each.source for each in self.statements]


def weigh(statements: Iterable[Statement]) -> list[Side]:
    """Return the sides, likeliest first. Of a source that was asked twice, the surer statement counts."""
    groups: list[list[Statement]] = []
    heard: set[int] = set()
    for each in sorted(statements, key=lambda each: -each.confidence):
        if not each.key or id(each.source) in heard:
            continue
        heard.add(id(each.source))
        side = next((group for group in groups if group[0].agrees(each)), None)
        if side is None:
            groups.append([each])
        elif not any(each.source.copies(other.source) for other in side):
            side.append(each)
    voices = [_voices(group, groups[0][0]) for group in groups]
    sides = []
    for group, own in zip(groups, voices, strict=True):
        wrong = math.prod(1 - each.confidence for each in group)
        against = sum(voices) - own
        sides.append(Side(tuple(group), (1 - wrong) * (own / (own + against) if against else 1.0)))
    return sorted(sides, key=lambda side: -side.confidence)


def about(question: str, sides: Sequence[Side]) -> list[Side]:
    """Return the sides without those about another scope than that of the question, if one as large is about it."""
    asked = {*words(question), *content_terms(question)}

    def is_apart(side: Side, right: Side) -> bool:
        return (
            right.best.confidence >= VOICE
            and len(right.statements) >= len(side.statements)
            and right.best.claim.contradicts(side.best.claim)
            and all(one.is_apart(other, asked) for one in side.statements for other in right.statements)
        )

    kept = [side for side in sides if not any(is_apart(side, right) for right in sides)]
    return weigh(each for side in kept for each in side.statements) if len(kept) < len(sides) else kept


def rivals(sides: Sequence[Side], sure: float) -> list[Side]:
    """Return the sides that contradict the first.

    They do if their sentence says something else about the same thing, or if they are probable, and two sources give
    them or the reader is `sure`.
    """
    first = sides[0].best
    return [
        side
        for side in sides[1:]
        if not may_agree(side.best.key, first.key)
        and (
            _contradiction(first, side.best)
            or (side.best.confidence >= VOICE and (side.best.confidence >= sure or len(side.statements) > 1))
        )
    ]


def _contradiction(first: Statement, other: Statement) -> float:
    """Return the voice of a source whose sentence contradicts the first, 0 if it does not."""
    heard = other.confidence >= _CONTRADICTS and first.claim.contradicts(other.claim)
    return other.confidence * other.source.trust if heard else 0.0


def _voices(statements: Sequence[Statement], surest: Statement) -> float:
    """Return the voices of the sources of a side. An unlikely side has none, but for a contradiction to the surest."""
    first, *others = statements
    if first.confidence < VOICE and first is not surest:
        return _contradiction(surest, first)
    own = [first.confidence, *(max(_MENTION, other.confidence) for other in others)]
    return sum(voice * each.source.trust for voice, each in zip(own, statements, strict=True))
