"""The forms that Astute asks for, and how replies are parsed: passages, consolidated documents and the verdict.

A reply may have the requested form, the other form, or none. Replies are untrusted data: parsing never raises, and
removes and counts named documents that do not exist. In each schema the answer is the last field, so that the model
reasons before it answers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from robust_qa.kit import contains_words
from rqa_prompts import (
    ANSWER,
    NOTE,
    NUMBER,
    TEXT,
    UNKNOWN,
    Form,
    Labels,
    answer_line,
    between,
    declines,
    in_either_form,
    list_of,
    named_documents,
    numbers_of,
    object_of,
    one_line,
    parse_object,
    parse_objects,
    says_unknown,
)

_VERDICT = Labels(
    lines=("documents", "answer", "confidence"),
    texts=("summary", "reason"),
    inside=("documents", "summary", "answer", "confidence"),
    outside=("reason",),
    heading="group",
    whole="answer",
)
_DOCUMENTS = Labels(
    lines=("documents", "source"),
    texts=("text", "summary"),
    inside=("documents", "source", "text", "summary"),
    heading="(?:new |consolidated )?(?:document|group|cluster)",
    whole="text",
    free="text",
)
# The steps of the paper's prompt: the second proposes an answer for each document of the first.
_PROPOSALS = Labels(
    lines=("documents", "answer", "confidence"),
    texts=("summary",),
    inside=("documents", "answer", "confidence"),
    heading="(?:new |consolidated )?(?:document|group|cluster|answer)",
    whole="answer",
)
_STEP_2 = re.compile(
    r"^[\W_]*(?:step\W*2\b|propose\b|proposed (?:possible |candidate )?answers\b[^:：\n]*[:：]?\W*$)", re.I | re.M
)
_STEP_3 = re.compile(r"^[\W_]*step\W*3\b|<<<ANSWER>>>", re.I | re.M)
_SURE = re.compile(r"[\s,;.(–—-]*(?:\bconfidence\W*([\d.]+\s*%?)|(?<=[\s,;(])(\d{1,3}(?:\.\d+)?\s*%))\W*\Z", re.I)
# Where a consolidated document names its sources at its end: "(Sources: documents 1 and 3)".
_AT_END = re.compile(r"(?:[(\[]\s*|[.!?]\s+)(?:sources?|from|(?:original )?documents?)\b(?=[^.]*+\Z)(.*\d.*)\Z", re.I)
_PASSAGES = Labels(texts=("text",), inside=("text",), heading="passage", whole="text")
_AMOUNT = re.compile(r"(\d{1,9}(?:[.,]\d+)?)\s*(?:(%)|(?:/|out of)\s*(\d{1,9}))?")
_DEGREES = {"very high": 0.95, "very low": 0.1, "certain": 1.0, "high": 0.9, "medium": 0.6, "moderate": 0.6, "low": 0.3}
_DEGREE = re.compile(rf"(?<!not )\b({'|'.join(_DEGREES)})\b", re.I)


@dataclass(frozen=True, slots=True)
class Consolidated:
    """A document of D_j, j > 0, with the numbers of the D_0 documents that it was made from.

    `removed` counts the named documents that do not exist.
    """

    text: str
    documents: tuple[int, ...] = ()
    removed: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """D_0 documents, by number, that support one candidate answer ("" if they support none).

    `removed` counts the named documents that do not exist.
    """

    documents: tuple[int, ...]
    answer: str
    confidence: float | None = None
    summary: str = ""
    removed: int = 0

    @property
    def stands(self) -> bool:
        """Whether the group names a document that exists, or names none at all."""
        return bool(self.documents) or not self.removed


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of finalisation; `answer` and `reason` are "" if the reply lacks them.

    `repaired`: a second call had to ask for the form. `degraded`: even that left only a plain answer.
    """

    groups: tuple[Group, ...] = ()
    answer: str = ""
    reason: str = ""
    repaired: bool = False
    degraded: bool = False


def parse_memory(reply: str, limit: int) -> list[str]:
    """Return at most `limit` passages. A reply without a known form is one, unless it declines or is broken JSON."""
    plain = [] if reply.startswith(("{", "[", "```")) else [reply]
    whole = parse_object(reply, "passages") or parse_object(f'{{"passages": {reply}}}', "passages") or {}
    listed = whole.get("passages", plain)
    headed = [part["text"] for part in _PASSAGES.parse(reply)[0] if "text" in part]
    passages = between(reply, "PASSAGE") or headed or (listed if isinstance(listed, list) else [listed])
    texts = [one_line(passage.get("text") if isinstance(passage, dict) else passage) for passage in passages]
    return [text for text in texts if not declines(text)][:limit]


def parse_consolidation(reply: str, size: int) -> list[Consolidated] | None:
    """Return D_j from a reply about `size` documents, or None if it has no known form."""
    listed = (parse_object(reply, "consolidated") or {}).get("consolidated")
    if listed == [] or re.fullmatch(r"\W*none\W*", reply, re.I):
        return []
    parts, end = _DOCUMENTS.parse(reply)
    parts = _dicts(listed) or parts or [found for found in parse_objects(reply) if "text" in found]
    documents = [_consolidated(part, size) for part in parts or ([end] if end else [])]
    return [document for document in documents if document.text] or None


def _consolidated(part: Mapping[str, Any], size: int) -> Consolidated:
    """Return one document of D_j. Its sources may be documents, an origin with numbers, or the end of its text."""
    text, origin = one_line(part.get("text") or part.get("summary")), part.get("source")
    named = part.get("documents") or (origin if re.search(r"\d", str(origin)) else None)
    if named is None and (at_end := _AT_END.search(text)):
        text, named = text[: at_end.start() + (at_end[0][0] in ".!?")].rstrip(), at_end[1]
    return Consolidated(text, *named_documents(named, size))


def parse_verdict(reply: str, size: int, *, structured: bool) -> Verdict | None:
    """Return the verdict in a reply about `size` documents.

    Returns None if it has no groups, no marked answer and no refusal. `structured`: JSON was requested. The
    other form is accepted too.
    """
    forms = partial(_json_form, size=size), partial(_text_form, size=size)
    verdict = in_either_form(reply, *forms, first="json" if structured else "text")
    return Verdict(answer=UNKNOWN) if verdict is None and reply and declines(reply) else verdict


def confidences(values: Sequence[object]) -> list[float | None]:
    """Return confidences in [0, 1] from "90%", "9/10", "high", or numbers on a scale of 1, 10 or 100.

    The largest number decides the scale of all; a number between 0 and 1 is always a share.
    """
    amounts = [_amount(value) for value in values]
    largest = max((number for number, whole in amounts if number is not None and whole is None), default=0.0)
    scale = next((scale for scale in (1, 10, 100) if largest <= scale), 0)
    found: list[float | None] = []
    for number, whole in amounts:
        if number is None:
            found.append(None)
            continue
        of = whole if whole is not None else 1 if 0 < number < 1 else scale
        found.append(number / of if of and number <= of else None)
    return found


def _amount(value: object) -> tuple[float | None, float | None]:
    """Return the number in `value` and, for "90%", "9/10" or "high", the maximum that it is relative to."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 100:
        return float(value), None
    if not isinstance(value, str):
        return None, None
    degree = _DEGREE.search(value)
    for amount in _AMOUNT.finditer(value):
        counted = amount[1].isdigit() and not (amount[2] or amount[3])
        if degree and counted and re.search(r"\w", value[: amount.start()]):
            continue  # "high (3 documents agree)"
        whole = 100.0 if amount[2] else float(amount[3]) if amount[3] else None
        return float(amount[1].replace(",", ".")), whole
    return (_DEGREES[degree[1].lower()], 1.0) if degree else (None, None)


def _json_form(reply: str, size: int) -> Verdict | None:
    last = parse_object(reply, "answer") or {}
    whole = parse_object(reply, "groups") or ({} if "documents" in last else last)  # not the last group of a cut reply
    if "answer" in whole and whole["answer"] is None:  # an explicit null; a cut reply has no answer at all
        whole["answer"] = UNKNOWN
    if whole.get("groups") == []:
        return _verdict([], whole, size)
    # A reply that was cut keeps its complete groups.
    groups = _dicts(whole.get("groups")) or [found for found in parse_objects(reply) if "documents" in found]
    return _of_use(_verdict(groups, whole, size))


def _in_steps(reply: str, size: int) -> tuple[Group, ...]:
    """Return the groups of a reply in the steps of the paper's prompt, nothing for other replies.

    Proposals may name the new documents of the first step, whose sources are then those of the proposal.
    """
    if (step := _STEP_2.search(reply)) is None:
        return ()
    new = [_consolidated(part, size) for part in _DOCUMENTS.parse(reply[: step.start()])[0]]
    after = reply[step.end() :]
    parts = _PROPOSALS.parse(_STEP_3.split(after, 1)[0])[0]
    named = [named_documents(part.get("documents"), size) for part in parts]
    places = [[number - 1 for number in numbers] or [place] for place, (numbers, _) in enumerate(named)]
    known = new and all(one.documents for one in new)
    renumbered = known and len(parts) == len(new) and all(place < len(new) for each in places for place in each)
    groups = []
    for part, place, (numbers, unknown) in zip(parts, places, named, strict=True):
        answer, sure = part.get("answer") or part.get("summary", ""), part.get("confidence")
        if sure is None and (stated := _SURE.search(answer)):
            answer, sure = answer[: stated.start()], stated[1] or stated[2]
        sources = [new[number] for number in place] if renumbered else [Consolidated("", numbers, unknown)]
        fields = {"answer": answer, "summary": " ".join(one.text for one in sources)}
        documents = tuple(dict.fromkeys(number for one in sources for number in one.documents))
        removed = sum(one.removed for one in sources)
        group = _group(fields, size, confidences([sure])[0])
        groups.append(replace(group, documents=documents, removed=removed))
    return tuple(groups) if any(group.answer for group in groups) else ()


def _text_form(reply: str, size: int) -> Verdict | None:
    parts, end = _VERDICT.parse(reply)
    if proposed := _in_steps(reply, size):
        return Verdict(proposed, answer_line(end.get("answer")), one_line(end.get("reason")))
    verdict = _verdict(parts, end, size)
    found = verdict.groups
    if verdict.answer and not any(
        group.documents and (group.answer or group.summary) for group in found
    ):  # the paper asks for documents instead of groups
        new = parse_consolidation(reply, size) or []
        found = tuple(Group(one.documents, "", None, one.text, one.removed) for one in new) or found
    held = (not group.answer and contains_words(verdict.answer, group.summary) for group in found)
    groups = [replace(group, answer=verdict.answer) if h else group for group, h in zip(found, held, strict=True)]
    verdict = replace(verdict, groups=tuple(groups))
    return verdict if between(reply, "ANSWER") and verdict.answer else _of_use(verdict)


def _of_use(verdict: Verdict) -> Verdict | None:
    """Return the verdict if it has an answer in a group or declines, else None."""
    declined = bool(verdict.answer) and says_unknown(verdict.answer)
    return verdict if declined or any(group.answer for group in verdict.groups) else None


def _verdict(parts: Sequence[Mapping[str, Any]], end: Mapping[str, Any], size: int) -> Verdict:
    sure = confidences([part.get("confidence") for part in parts])
    groups = tuple(_group(part, size, share) for part, share in zip(parts, sure, strict=True))
    return Verdict(groups, answer_line(end.get("answer")), one_line(end.get("reason")))


def _group(part: Mapping[str, Any], size: int, confidence: float | None) -> Group:
    documents, removed = named_documents(part.get("documents"), size)
    answer = answer_line(part.get("answer"))
    answer = "" if says_unknown(answer) else answer
    return Group(documents, answer, confidence, one_line(part.get("summary")), removed)


def _dicts(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def memory_form(limit: int) -> Form:
    """Return the form for at most `limit` passages."""
    return Form("memory", object_of(passages=list_of(TEXT, limit)))


def consolidation_form(size: int) -> Form:
    """Return the form for new documents made from `size` documents."""
    return Form("consolidate", object_of(consolidated=list_of(object_of(documents=numbers_of(size), text=TEXT), size)))


def verdict_form(size: int, *, abstain: bool) -> Form:
    """Return the form for reasoning, groups of `size` documents with their answers, and the final answer."""
    group = object_of(documents=numbers_of(size), summary=NOTE, answer=TEXT, confidence=NUMBER)
    final = ANSWER if abstain else TEXT
    return Form("finalise", object_of(reasoning=NOTE, groups=list_of(group, size), reason=NOTE, answer=final))
