"""Parse the agents' replies: a thought and its revision.

A reply may have the requested form, the other form, or none. Replies are untrusted data: parsing never raises, and
removes and counts named documents that do not exist.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from robust_qa.kit import printable
from rqa_prompts import (
    Labels,
    answer_line,
    final_answer,
    in_either_form,
    named_documents,
    one_line,
    parse_object,
    says_unknown,
)

_OPENING = re.compile(r"<{2,3}\s*ANSWER\s*>{2,3}[ \t]*", re.I)
_MARK = re.compile(r"<{1,3}[\s/]*+ANSWER\s*+>{1,3}", re.I)
_LABELS = Labels(
    lines=("documents", "answer"),
    texts=("before", "after", "thought"),
    inside=("before", "after", "documents"),
    outside=("thought", "documents", "answer"),
    heading="correction",
    whole="",
)
_REFERENCE = re.compile(r"\[([^\[\]]*)\]")
_NOTHING = re.compile(r"\W*+(?:none|nothing|n/a)?\W*+", re.I)


@dataclass(frozen=True, slots=True)
class Thought:
    """P: the reasoning from memory, and its answer ("" for none)."""

    text: str
    answer: str


@dataclass(frozen=True, slots=True)
class Correction:
    """A step of the thought before and after, and the numbers of the documents that support the change."""

    before: str
    after: str
    documents: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Revision:
    """y: the thought after accommodation, and the answer ("" if the reply declines).

    `removed` counts the named documents that do not exist. `degraded`: the reply has no form, only a plain answer.
    """

    answer: str
    thought: str = ""
    corrections: tuple[Correction, ...] = ()
    documents: tuple[int, ...] = ()
    removed: int = 0
    degraded: bool = False


def parse_thought(reply: str) -> Thought:
    """Return the whole reply as reasoning, with the answer in it."""
    text = _MARK.sub("", _OPENING.sub("Answer: ", reply))
    return Thought(printable(text).strip(), _answer(final_answer(reply)))


def parse_revision(reply: str, size: int, *, structured: bool) -> Revision:
    """Return the revision in a reply about `size` documents.

    `structured`: JSON was requested. The other form is accepted too.
    """
    parts = in_either_form(reply, _json_form, _text_form, first="json" if structured else "text")
    return Revision(_answer(final_answer(reply)), degraded=True) if parts is None else _revision(parts, size)


def references(knowledge: str, size: int) -> tuple[int, ...]:
    """Return the numbers of the documents that T names in square brackets, in order of first mention."""
    return named_documents(_REFERENCE.findall(knowledge), size)[0]


def _revision(parts: Mapping[str, Any], size: int) -> Revision:
    documents, removed = named_documents(parts.get("documents"), size)
    corrections = []
    for part in parts["corrections"]:
        shown, unknown = named_documents(part.get("documents"), size)
        removed += unknown
        before, after = one_line(part.get("before")), one_line(part.get("after"))
        if not _NOTHING.fullmatch(after) and before != after:
            corrections.append(Correction(before, after, shown))
    return Revision(_answer(parts["answer"]), one_line(parts.get("thought")), tuple(corrections), documents, removed)


def _json_form(reply: str) -> dict[str, Any] | None:
    parts = parse_object(reply, "answer")
    if parts is None:
        return None
    listed = parts.get("corrections")
    return {
        **parts,
        "corrections": [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else [],
    }


def _text_form(reply: str) -> dict[str, Any] | None:
    """Return the fields of a text reply. Each `before:` begins a correction."""
    corrections, end = _LABELS.parse(reply)
    return {**end, "corrections": corrections} if "answer" in end else None


def _answer(value: object) -> str:
    text = answer_line(value)
    return "" if says_unknown(text) else text
