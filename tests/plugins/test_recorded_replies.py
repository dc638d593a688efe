"""Replies kept as data: the grammar reads each form as a person would. `from` says where a reply is from."""

import json
from pathlib import Path
from typing import Any

import pytest

from robust_qa import Completion, CutError, Passage
from robust_qa.answering.reading import parse_reading
from robust_qa.kit import final_answer, is_cut, says_unknown, without_thoughts
from rqa_astute.deciding import completed, decide
from rqa_astute.parsing import parse_consolidation, parse_verdict
from rqa_madam.replies import parse_claim
from rqa_madam.replies import parse_verdict as parse_debate

RECORDED = [json.loads(line) for line in (Path(__file__).parent / "replies.jsonl").read_text("utf-8").splitlines()]
POOL = [Passage(text, id=str(n)) for n, text in enumerate(("Austen.", "Shelley.", "Austen, again."), start=1)]


def final(reply: Completion) -> Any:
    answer = final_answer(reply.text)
    return None if says_unknown(answer) else answer


def reading(reply: Completion) -> Any:
    try:
        found = parse_reading(reply, POOL)
    except CutError:
        return "cut"
    return {"answer": found.text, "documents": [number + 1 for number in found.passages]}


def verdict(reply: Completion) -> Any:
    found = parse_verdict(reply.text, 3, structured=False)
    if found is None:
        return "cut" if is_cut(reply) else None
    found = completed(found) if reply.finish == "length" else found
    answer = decide(found, POOL)
    groups = [[list(group.documents), group.answer] for group in found.groups]
    return {"answer": answer.text, "groups": groups, "sources": [int(one.id) for one in answer.citations]}


def consolidation(reply: Completion) -> Any:
    return [[list(one.documents), one.text.rstrip(".")] for one in parse_consolidation(reply.text, 3) or ()]


def claim(reply: Completion) -> Any:
    return parse_claim(reply.text).answer or None


def debate(reply: Completion) -> Any:
    found = parse_debate(reply.text, 5)
    return found and [[text, list(documents)] for text, documents in found.answers]


PARSERS = {
    "final": final,
    "reading": reading,
    "verdict": verdict,
    "consolidation": consolidation,
    "claim": claim,
    "debate": debate,
}


def as_expected(row: dict[str, Any]) -> bool:
    """Whether a recorded reply is read as it should be. Only the fields in `expected` are compared."""
    reply = Completion(without_thoughts(row["reply"]), finish=row.get("finish", "stop"))
    found, expected = PARSERS[row["parser"]](reply), row["expected"]
    if isinstance(found, dict) and isinstance(expected, dict):
        return all(found[name] == value for name, value in expected.items())
    return bool(found == expected)


@pytest.mark.parametrize("form", dict.fromkeys(row["form"] for row in RECORDED))
def test_recorded_replies_are_read_as_they_are_meant(form: str) -> None:
    assert [row["reply"] for row in RECORDED if row["form"] == form and not as_expected(row)] == []
