"""Replies kept as data: the grammar reads each form as a person would.

`from` says where a reply is from, and `structured` whether JSON was asked for, if that is not the form of the reply.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robust_qa import Completion, CutError, Passage
from rqa_activerag.parsing import parse_revision
from rqa_astute.deciding import completed, decide
from rqa_astute.parsing import parse_consolidation, parse_memory, parse_verdict
from rqa_madam.replies import parse_claim
from rqa_madam.replies import parse_verdict as parse_debate
from rqa_prompts import (
    Labels,
    between,
    declines,
    final_answer,
    is_cut,
    named_documents,
    one_line,
    parse_object,
    says_unknown,
    without_thoughts,
)
from rqa_prompts.reading import parse_reading
from rqa_sufficient import parse_rating

RECORDED = [json.loads(line) for line in (Path(__file__).parent / "replies.jsonl").read_text("utf-8").splitlines()]
POOL = [Passage(text, id=str(n)) for n, text in enumerate(("Austen.", "Shelley.", "Austen, again."), start=1)]
LABELS = Labels(
    lines=("documents", "answer", "confidence"),
    texts=("summary", "reason"),
    outside=("reason", "answer"),
    inside=("documents", "summary", "answer", "confidence"),
    heading="group",
    whole="answer",
)


def final(reply: Completion) -> Any:
    answer = final_answer(reply.text)
    return None if says_unknown(answer) else answer


def reading(reply: Completion) -> Any:
    try:
        found = parse_reading(reply, POOL)
    except CutError:
        return "cut"
    documents = [number + 1 for number in found.passages]
    return {"answer": found.text, "documents": documents, "reason": found.reason}


def verdict(reply: Completion, *, structured: bool) -> Any:
    found = parse_verdict(reply.text, 3, structured=structured)
    if found is None:
        return "cut" if is_cut(reply) else None
    found = completed(found) if reply.finish == "length" else found
    answer = decide(found, POOL)
    return {
        "answer": answer.text,
        "groups": [[list(group.documents), group.answer] for group in found.groups],
        "summaries": [group.summary for group in found.groups],
        "confidences": pytest.approx([group.confidence for group in found.groups], nan_ok=True),
        "sources": [int(one.id) for one in answer.citations],
    }


def consolidation(reply: Completion) -> Any:
    return [[list(one.documents), one.text.rstrip(".")] for one in parse_consolidation(reply.text, 3) or ()]


def revision(reply: Completion, *, structured: bool) -> Any:
    found = parse_revision(reply.text, 3, structured=structured)
    corrections = [[one.before, one.after, list(one.documents)] for one in found.corrections]
    return {
        "answer": found.answer,
        "thought": found.thought,
        "corrections": corrections,
        "documents": list(found.documents),
    }


def debate(reply: Completion) -> Any:
    found = parse_debate(reply.text, 5)
    return found and [[text, list(documents)] for text, documents in found.answers]


def labels(text: str) -> Any:
    parts, outside = LABELS.parse(text)
    return [
        [{name: value.strip() for name, value in part.items() if value.strip()} for part in parts],
        {name: value.strip() for name, value in outside.items() if value.strip()},
    ]


def rating(reply: Completion) -> Any:
    found = parse_rating(reply.text)
    return [found.sufficient, found.missing]


def named(value: Any) -> Any:
    numbers, removed = named_documents(value, 5)
    return [list(numbers), removed]


PARSERS: dict[str, Callable[..., Any]] = {  # of replies, without the thoughts of the model
    "final": final,
    "reading": reading,
    "verdict": verdict,
    "consolidation": consolidation,
    "memory": lambda reply: parse_memory(reply.text, 5),
    "revision": revision,
    "rating": rating,
    "claim": lambda reply: parse_claim(reply.text).answer or None,
    "debate": debate,
}
OF_TEXT: dict[str, Callable[[Any], Any]] = {  # of a reply as it is, or of a part of it
    "final text": final_answer,
    "unknown": says_unknown,
    "declines": declines,
    "line": one_line,
    "named": named,
    "object": lambda text: parse_object(text, "a"),
    "between": lambda text: between(text, "A"),
    "thoughts": without_thoughts,
    "labels": labels,
}


def parsed(row: dict[str, Any]) -> list[Any]:
    """What the parser of the row finds, for each form that may have been asked for."""
    name = row["parser"]
    if name in OF_TEXT:
        return [OF_TEXT[name](row["reply"])]
    reply = Completion(without_thoughts(row["reply"]), finish=row.get("finish", "stop"))
    if name in ("verdict", "revision"):
        return [PARSERS[name](reply, structured=each) for each in row.get("structured", [False])]
    return [PARSERS[name](reply)]


def as_expected(row: dict[str, Any]) -> bool:
    """Whether a recorded reply is read as it should be. Of a parser's fields only those in `expected` are compared."""
    expected = row["expected"]
    is_part = isinstance(expected, dict) and row["parser"] in PARSERS
    return all(
        all(found[name] == value for name, value in expected.items())
        if is_part and isinstance(found, dict)
        else found == expected
        for found in parsed(row)
    )


@pytest.mark.parametrize("form", dict.fromkeys(row["form"] for row in RECORDED))
def test_recorded_replies_are_read_as_they_are_meant(form: str) -> None:
    assert [row["reply"] for row in RECORDED if row["form"] == form and not as_expected(row)] == []


_LONG = ("Answer: " + "x " * 100_000, "Answer" + " " * 200_000, "*" + "\n" * 200_000 + "*", "x" + "\n." * 100_000 + "x")


def test_a_long_reply_is_parsed_quickly() -> None:
    began = time.process_time()
    broken = ('{"answer":"' + '"answer":"' * 20_000, '{"answer":"' + '" , "x' * 30_000, '{"answer":"' + '"' * 200_000)
    for reply in (
        *_LONG,
        *broken,
        "Answer:" + "\n" * 200_000 + "Answer:",
        "Answer:\n" * 25_000,
        "Answer: 1" + "\n." * 100_000,
    ):
        parse_reading(Completion(reply), POOL)
    for reply in _LONG:
        with pytest.raises(CutError):
            parse_reading(Completion(reply, finish="length"), POOL)
    assert time.process_time() - began < 2


@given(st.text())
def test_no_reply_breaks_the_parser(reply: str) -> None:
    reading = parse_reading(Completion(reply), POOL)
    assert all(0 <= position < 3 for position in reading.passages)
