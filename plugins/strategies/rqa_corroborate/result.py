"""From sides to an Answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from robust_qa import Answer, Citation, Passage, Position, Quote
from robust_qa.kit import answer_key, cite_quote, is_row, without_mark
from rqa_claims import Claim, may_agree, sentence_at, source_of

from .sources import Statement
from .weighing import Side, rivals

_MOST_SIDES = 4
_LONGEST = 60  # words of a sentence that is an answer
_ITEM = re.compile(r"\n+( *)(?:[-*+•]|\d+[.)]) ((?:[^\n]|(?<= )\n)+)")  # a line that ends with a space goes on below
_DISPUTED = 0.68  # least confidence of an answer that is contradicted: two of three sources are not enough


def is_sure(sides: Sequence[Side], sure: float) -> bool:
    """Return whether the first side is the answer."""
    return bool(sides) and sides[0].confidence >= (max(sure, _DISPUTED) if rivals(sides, sure) else sure)


def answer_of(sides: Sequence[Side], sure: float, history: str) -> Answer:
    """Return the first side as the answer, with those that contradict it, and what other editions say."""
    first, others = _position(sides[0], chosen=True), rivals(sides, sure)
    conflicts, standing = _conflicts(first, others), _standing(sides[0], others)
    return Answer(first.text, first.confidence, first.citations, conflicts, reason=f"{history} {standing}".strip())


def abstention(sides: Sequence[Side], said: Sequence[Statement], sure: float, history: str) -> Answer:
    """Return an abstention with the likeliest side as best guess."""
    if not sides:
        reasons = (each.reading.reason for each in said)
        return Answer(None, reason=next(filter(None, reasons), "The passages do not hold an answer."))
    first, others = _position(sides[0]), rivals(sides, sure)
    reason = f"{history} {_standing(sides[0], others)}".strip() or "Not sure of an answer."
    return Answer(None, conflicts=_conflicts(first, others), reason=reason, best_guess=first)


def sentence_of(quotes: Sequence[Quote], passages: Sequence[Passage], threshold: float) -> Answer | None:
    """Return the sentence that likely answers the question, as an answer to "how" and "why" should be.

    If the sentence of another source contradicts it, both are shown, and neither is the answer.
    """
    if not quotes or quotes[0].highlight is None or (quotes[0].score or 0) < threshold:
        return None
    first = _sentence(quotes[0], passages)
    if len(first.text.split()) > _LONGEST:
        return None
    for other in quotes[1:]:
        if _contradict(quotes[0], other, passages):
            sides = first, _sentence(other, passages)
            return Answer(None, conflicts=sides, reason="Two sources say different things.", best_guess=first)
    return Answer(first.text, first.confidence, first.citations)


def _sentence(quote: Quote, passages: Sequence[Passage]) -> Position:
    text = passages[quote.passage].text
    start, end = sentence_at(text, *(quote.highlight or (quote.start, quote.end)))
    if is_row(text[start:end]):  # and not those around it
        quote = replace(quote, start=start, end=end)
    sentence = " ".join(without_mark(text[start:end]).split())
    if sentence.endswith(":") and (items := _items(text, start, end)):
        sentence += f" {'; '.join(items)}"
    return Position(sentence, quote.score, (cite_quote(quote, passages),))


def _items(text: str, start: int, end: int) -> list[str]:
    """Return the items of the list below a sentence, without those of lists in it or around it."""
    around = _ITEM.match(f"\n{text}", text.rfind("\n", 0, start) + 1)
    outside = len(around[1]) if around else -1
    found: list[tuple[int, str]] = []
    while (item := _ITEM.match(text, end)) and len(item[1]) > outside:
        found.append((len(item[1]), " ".join(item[2].split())))
        end = item.end()
    return [words for depth, words in found if depth == found[0][0]]


def _contradict(one: Quote, other: Quote, passages: Sequence[Passage]) -> bool:
    """Return whether the highlights of two quotes of different sources say something else about the same thing."""
    if one.highlight is None or other.highlight is None:
        return False
    first, second = passages[one.passage], passages[other.passage]
    keys = (answer_key(each.text[slice(*span)]) for each, span in ((first, one.highlight), (second, other.highlight)))
    return (
        source_of(first) != source_of(second)
        and not may_agree(*keys)
        and Claim.at(first.text, *one.highlight).contradicts(Claim.at(second.text, *other.highlight))
    )


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
