"""Count the independent sources that support and contradict a claim with a quantity.

The reader answers the claim's own question from each passage alone. Passages in which it is not sure are asked again
with the words of the surest sentence: "built in what year?" alone does not tell which building. Readings that it is
sure of make the sides, and less sure ones join a side that has one: "first lit in 1871" alone does not tell when it
was built.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from robust_qa import Citation, Passage, Reading, Toolbox
from robust_qa.kit import ask_each, cite, near_copies, same_value, sentence_around

from .agreement import Checked, Verdict, question_of, value_of

_JOINS = 0.015  # probability of a reading that joins a side; chosen on examples/harbour


@dataclass(frozen=True, slots=True)
class Sides:
    """A citation of each independent source that supports a claim, and of each one that contradicts it."""

    supporting: tuple[Citation, ...] = ()
    contradicting: tuple[Citation, ...] = ()


async def sides(claim: str, passages: Sequence[Passage], toolbox: Toolbox) -> Sides:
    """Return what the reader finds. Both sides are empty if `claim` has no quantity."""
    asked = question_of(claim)
    if asked is None:
        return Sides()
    first = await _ask(asked.text, passages, toolbox)
    surest = max((each for each in first if each[1].text), key=lambda each: each[1].score or 0, default=None)
    if surest is None:
        return Sides()
    around = sentence_around(surest[1], [surest[0]])
    again = await _ask(f"{asked.text} {around}", [passage for passage, reading in first if not reading.text], toolbox)
    readings = [*((passage, reading) for passage, reading in first if reading.text), *again]
    values: dict[str, list[tuple[Passage, Citation]]] = {}
    for sure in (True, False):
        for passage, reading in readings:
            said = _answer(reading, sure)
            value = value_of(said.text or "", asked.kind) if said else ""
            value = next((own for own in (asked.value, *values) if value and same_value(asked.kind, own, value)), value)
            if said and value and (sure or value in values):
                own = values.setdefault(value, [])
                if not any(_is_copy(passage, other) for other, _ in own):
                    own.append((passage, cite(passage, said.text, start=said.start)))
    supporting = tuple(citation for _, citation in values.pop(asked.value, ()))
    return Sides(supporting, tuple(citation for own in values.values() for _, citation in own))


async def _ask(question: str, passages: Sequence[Passage], toolbox: Toolbox) -> list[tuple[Passage, Reading]]:
    """Return the passages with what the reader finds in each alone. Failed readings are left out."""
    readings = await ask_each(lambda passage: toolbox.read(question, [passage]), passages)
    return [(p, reading) for p, reading in zip(passages, readings, strict=True) if isinstance(reading, Reading)]


def majority(checked: Checked, told: Sides) -> Checked:
    """Return `checked`, which is supported, with both sides and the verdict of the larger one.

    Unchanged if the reader does not find what the sentences say.
    """
    supporting, contradicting = len(told.supporting), len(told.contradicting)
    if not supporting:
        return checked
    verdict: Verdict = "disputed"
    if supporting != contradicting:
        verdict = "supported" if supporting > contradicting else "contradicted"
    citation = (told.contradicting if verdict == "contradicted" else told.supporting)[0]
    return replace(
        checked,
        verdict=verdict,
        citation=citation,
        supporting=told.supporting,
        contradicting=told.contradicting,
    )


def _answer(reading: Reading, sure: bool) -> Reading | None:
    """Return the answer of the reader if it is sure, or else its likeliest candidate."""
    if sure or reading.text:
        return reading if sure and reading.text else None
    return next((rival for rival in reading.rivals[:1] if (rival.score or 0) >= _JOINS), None)


def _is_copy(one: Passage, other: Passage) -> bool:
    """Return whether both are of one document or have nearly the same words."""
    if (one.source, one.title) == (other.source, other.title) != ("", ""):
        return True
    return near_copies(one.text, other.text)
