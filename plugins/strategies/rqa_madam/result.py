"""From the debate to an Answer: the valid answers, each with its sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from robust_qa import Answer, Citation, Passage, Position, Reading
from robust_qa.kit import answer_key, cite_reading, contains_words
from rqa_prompts import fenced

from .replies import Claim, Verdict


def as_passage(claim: Claim, passage: Passage) -> Passage:
    """Return a claim in the place of the passage that it is made from, for the aggregator."""
    return replace(passage, text=f"Answer: {claim.answer or 'unknown'}\n{claim.explanation}", made_of=())


def summary(verdict: Verdict) -> str:
    """Return the verdict as the agents see it."""
    answers = "; ".join(text for text, _ in verdict.answers) or "none"
    return fenced(f"Valid answers: {answers}\n{verdict.reason}")


def concluded(verdict: Verdict, passages: Sequence[Passage], debate: Sequence[Sequence[Claim]]) -> Answer:
    """Return the valid answers, joined by semicolons. Abstains if there is none.

    An answer that no agent gave is left out: small models repeat what the question or the form says.
    """
    last = debate[-1]
    sides: dict[str, Position] = {}
    for text, named in verdict.answers:
        agents = [number for number, claim in enumerate(last) if _same(text, claim.answer)]
        supporting = [number for number in agents if number + 1 in named] or agents
        if supporting and answer_key(text) not in sides:
            sides[answer_key(text)] = Position(text, None, _cited(text, supporting, passages), chosen=True)
    details = {
        "rounds": [[claim.answer or None for claim in claims] for claims in debate],
        "explanations": [claim.explanation for claim in last],
        "reason": verdict.reason,
        "rejected": sorted(
            {c.answer for c in last if c.answer and not any(_same(s.text, c.answer) for s in sides.values())}
        ),
    }
    if not sides:
        found = any(claim.answer for claim in last)
        reason = "No answer of a passage is reliable." if found else "No passage alone has an answer."
        return Answer(None, reason=reason, details=details)
    valid = tuple(sides.values())
    return Answer(
        "; ".join(side.text for side in valid),
        citations=tuple(dict.fromkeys(citation for side in valid for citation in side.citations)),
        conflicts=valid if len(valid) > 1 else (),
        details=details,
    )


def _same(one: str, other: str) -> bool:
    return bool(one and other) and (contains_words(one, other) or contains_words(other, one))


def _cited(text: str, agents: Sequence[int], passages: Sequence[Passage]) -> tuple[Citation, ...]:
    return cite_reading(Reading(text, passages=tuple(agents)), passages)
