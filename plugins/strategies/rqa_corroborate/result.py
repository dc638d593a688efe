"""From sides to an Answer."""

from __future__ import annotations

from collections.abc import Sequence

from robust_qa import Answer, Citation, Passage, Position, Quote
from robust_qa.kit import cite_quote, sentence_at

from .sources import Statement
from .weighing import Side, rivals

_MOST_SIDES = 4
_LONGEST = 60  # words of a sentence that is an answer


def answer_of(sides: Sequence[Side], sure: float) -> Answer:
    """Return the first side as the answer, with those that contradict it."""
    first, others = _position(sides[0], chosen=True), rivals(sides, sure)
    conflicts, standing = _conflicts(first, others), _standing(sides[0], others)
    return Answer(first.text, first.confidence, first.citations, conflicts, reason=standing)


def abstention(sides: Sequence[Side], said: Sequence[Statement], sure: float) -> Answer:
    """Return an abstention with the likeliest side as best guess."""
    if not sides:
        reasons = (each.reading.reason for each in said)
        return Answer(None, reason=next(filter(None, reasons), "The passages do not hold an answer."))
    first, others = _position(sides[0]), rivals(sides, sure)
    reason = _standing(sides[0], others) or "Not sure of an answer."
    return Answer(None, conflicts=_conflicts(first, others), reason=reason, best_guess=first)


def sentence_of(quotes: Sequence[Quote], passages: Sequence[Passage], threshold: float) -> Answer | None:
    """Return the sentence that likely answers the question, as an answer to "how" and "why" should be."""
    for quote in quotes[:1]:
        if quote.highlight is None or (quote.score or 0) < threshold:
            break
        text = passages[quote.passage].text
        sentence = " ".join(text[slice(*sentence_at(text, *quote.highlight))].split())
        if len(sentence.split()) <= _LONGEST:
            return Answer(sentence, quote.score, (cite_quote(quote, passages),))
    return None


def _conflicts(first: Position, others: Sequence[Side]) -> tuple[Position, ...]:
    return (first, *map(_position, others[: _MOST_SIDES - 1])) if others else ()


def _standing(first: Side, others: Sequence[Side]) -> str:
    """Tell how many sources stand against how many, "" without a contradiction."""
    counts = [f"{_count(side)} {side.best.reading.text}" for side in (first, *others)][:_MOST_SIDES]
    standing = "; ".join(counts)
    return f"{standing[0].upper()}{standing[1:]}." if others else ""


def _count(side: Side) -> str:
    number = len(side.statements)
    return "one source says" if number == 1 else f"{number} sources say"


def _position(side: Side, *, chosen: bool = False) -> Position:
    citations: dict[Citation, None] = dict.fromkeys(cited for each in side.statements for cited in each.citations)
    return Position(side.best.reading.text or "", side.confidence, tuple(citations), chosen)
