"""What agents and the aggregator reply: the forms that they are asked for, and how replies are read.

Replies are untrusted data: parsing never raises, and ignores named documents that do not exist.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rqa_prompts import (
    ANSWER,
    TEXT,
    Form,
    Labels,
    answer_line,
    fenced,
    final_answer,
    list_of,
    named_documents,
    numbers_of,
    object_of,
    one_line,
    parse_object,
    parse_objects,
    says_unknown,
)

_NOTE = {"type": "string", "maxLength": 400}  # small models may go on without end
CLAIM = Form("claim", object_of(explanation=_NOTE, answer=ANSWER))
_CLAIM = Labels(lines=("answer",), texts=("explanation",), inside=(), outside=("explanation", "answer"))
_VERDICT = Labels(lines=("answer", "documents"), texts=("reason",), inside=("answer", "documents"), outside=("reason",))


def verdict_form(size: int) -> Form:
    """Return the form of the aggregator's reply about `size` agents."""
    return Form(
        "verdict", object_of(reason=_NOTE, answers=list_of(object_of(answer=TEXT, documents=numbers_of(size)), size))
    )


@dataclass(frozen=True, slots=True)
class Claim:
    """An agent's answer, "" if its document has none, and why."""

    answer: str
    explanation: str = ""

    @property
    def shown(self) -> str:
        """The claim in a prompt."""
        return fenced(f"Answer: {self.answer or 'unknown'}\n{self.explanation}")


SILENT = Claim("")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The valid answers, each with the numbers of the agents that gave it, and why they are valid."""

    answers: tuple[tuple[str, tuple[int, ...]], ...] = ()
    reason: str = ""


def parse_claim(reply: str) -> Claim:
    """Return the claim in a reply in either form, or else its last line."""
    fields: Mapping[str, Any] = parse_object(reply, "answer") or _CLAIM.parse(reply)[1]
    answer = answer_line(fields["answer"]) if "answer" in fields else final_answer(reply)
    return Claim("" if says_unknown(answer) else answer, one_line(fields.get("explanation")))


def parse_verdict(reply: str, size: int) -> Verdict | None:
    """Return the verdict in a reply about `size` agents. None if it has neither an answer nor a refusal.

    A reply in JSON that was cut keeps its complete answers.
    """
    whole = parse_object(reply, "answers")
    if whole is not None:
        return _verdict(_objects(whole["answers"]), whole, size)
    if parts := [found for found in parse_objects(reply) if "answer" in found]:
        return _verdict(parts, {}, size)
    listed, end = _VERDICT.parse(reply)
    verdict = _verdict(listed, end, size)
    return verdict if verdict.answers or listed or says_unknown(reply) else None


def plain_verdict(reply: str) -> Verdict:
    """Return the verdict in a reply without the form: its plain answer."""
    answer = final_answer(reply)
    return Verdict() if says_unknown(answer) else Verdict(((answer, ()),))


def _verdict(parts: Sequence[Mapping[str, Any]], fields: Mapping[str, Any], size: int) -> Verdict:
    answers = [(answer_line(part.get("answer")), named_documents(part.get("documents"), size)[0]) for part in parts]
    valid = tuple((text, documents) for text, documents in answers if not says_unknown(text))
    return Verdict(valid, one_line(fields.get("reason")))


def _objects(value: object) -> list[dict[str, Any]]:
    """Return the answers of a list, of which some may be bare texts."""
    items = value if isinstance(value, list) else [value]
    return [item if isinstance(item, dict) else {"answer": item} for item in items]
