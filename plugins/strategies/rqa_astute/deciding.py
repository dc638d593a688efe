"""Turn a verdict into an Answer: the candidates, the chosen one and the passages that support each."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from robust_qa import Answer, Passage, Position, Reading
from robust_qa.kit import answer_key, cite_reading, contains_words
from rqa_prompts import says_unknown

from .parsing import Group, Verdict


def decide(verdict: Verdict, pool: Sequence[Passage]) -> Answer:
    """Return the answer of `verdict` about the documents `pool`, or an abstention if it has none.

    Groups with the same normalised answer are one position, and two positions are a conflict. Groups that name only
    documents that do not exist lose against others. Confidence decides a verdict without a final answer. A final answer
    that combines candidates is kept, with the citations of all of them. The answer has no confidence, because nobody
    has measured how often the numbers that a model writes down are right.
    """
    real = [group for group in verdict.groups if group.stands] or verdict.groups
    if says_unknown(verdict.answer) and not any(group.answer for group in real):
        # Summaries tell the sides of a conflict that the model does not decide.
        real = [dataclasses.replace(group, answer=group.summary) for group in real]
    positions, chosen = _positions(real, pool), verdict.answer
    favoured = _favoured(chosen, positions)
    if chosen and favoured is None and positions:
        unreal = [group for group in verdict.groups if group not in real]
        if any(answer_key(group.answer) == answer_key(chosen) for group in unreal):
            chosen, favoured = "", _favoured("", positions)
    positions = [dataclasses.replace(position, chosen=position is favoured) for position in positions]
    favoured = next((position for position in positions if position.chosen), None)
    sides = tuple(dataclasses.replace(position, confidence=None) for position in positions)
    conflicts = sides if len(sides) > 1 else ()
    text = chosen or (favoured.text if favoured else "")
    if verdict.degraded and not text:
        return Answer(None, reason="The language model gave no usable reply.")
    if says_unknown(text):
        reason = "Neither the documents nor the model's memory hold a reliable answer."
        return Answer(None, conflicts=conflicts, reason=reason)
    if favoured is None:
        parts = combined(text, positions)
        reason = f"The answer combines candidates: {', '.join(repr(part.text) for part in parts)}." if parts else ""
        citations = tuple(dict.fromkeys(citation for part in parts for citation in part.citations))
        return Answer(text, citations=citations, conflicts=conflicts, reason=reason)
    return Answer(text, None, favoured.citations, conflicts)


def combined(answer: str, positions: Sequence[Position]) -> list[Position]:
    """Return the candidates whose words `answer` contains, if there are several, as in "Lyon, not Paris"."""
    parts = [position for position in positions if contains_words(position.text, answer)]
    return parts if len(parts) > 1 else []


def completed(verdict: Verdict) -> Verdict:
    """Complete the answer of a reply that was cut from a group's answer that begins with it.

    Without an answer, the group in which it was cut is left out: its own answer may be incomplete.
    """
    if not verdict.answer and len(verdict.groups) > 1 and verdict.groups[-1].confidence is None:
        return dataclasses.replace(verdict, groups=verdict.groups[:-1])
    whole = [group.answer for group in verdict.groups if verdict.answer and group.answer.startswith(verdict.answer)]
    return dataclasses.replace(verdict, answer=min(whole, key=len, default=verdict.answer))


def _positions(groups: Sequence[Group], pool: Sequence[Passage]) -> list[Position]:
    by_answer: dict[str, list[Group]] = {}
    for group in groups:
        if group.answer:
            by_answer.setdefault(answer_key(group.answer), []).append(group)
    return [_position(agreeing, pool) for agreeing in by_answer.values()]


def _position(agreeing: Sequence[Group], pool: Sequence[Passage]) -> Position:
    text = agreeing[0].answer
    named = dict.fromkeys(number - 1 for group in agreeing for number in group.documents)
    confidences = [group.confidence for group in agreeing if group.confidence is not None]
    return Position(text, max(confidences, default=None), cite_reading(Reading(text, passages=tuple(named)), pool))


def _favoured(answer: str, positions: Sequence[Position]) -> Position | None:
    """Return the position that `answer` repeats, or else the only one that it rephrases with more or fewer words.

    Without an answer, returns the position with the highest confidence. "Lyon, not Paris" rephrases neither of two.
    """
    if answer:
        near = [position for position in positions if _rephrases(position.text, answer)]
        same = [position for position in near if answer_key(position.text) == answer_key(answer)]
        return (same or near)[0] if same or len(near) == 1 else None
    return max(positions, key=lambda position: position.confidence or 0.0, default=None)


def _rephrases(one: str, other: str) -> bool:
    fewer, more = sorted((set(answer_key(one).split()), set(answer_key(other).split())), key=len)
    return bool(fewer) and fewer <= more
