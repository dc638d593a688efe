"""The one grammar of replies in labelled text."""

from __future__ import annotations

import pytest

from robust_qa.kit import Labels

FORM = Labels(
    lines=("documents", "answer", "confidence"),
    texts=("summary", "reason"),
    outside=("reason", "answer"),
    inside=("documents", "summary", "answer", "confidence"),
    heading="group",
    whole="answer",
)
ONE = [{"documents": "1, 4", "answer": "Paris"}]


def filled(part: dict[str, str]) -> dict[str, str]:
    return {name: value.strip() for name, value in part.items() if value.strip()}


@pytest.mark.parametrize(
    ("reply", "parts", "fields"),
    [
        ("documents: 1, 4\nanswer: Paris", ONE, {}),
        ("GROUP 1\n- **Documents:** 1, 4\n- **Answer:** Paris", ONE, {}),
        ("Group 1 (documents 1, 4): Its capital.\nanswer: Paris", [ONE[0] | {"summary": "Its capital."}], {}),
        ("Documents：1, 4\nAnswer：\nParis", ONE, {}),  # the value is on the next line
        ("| Documents | Answer |\n|---|---|\n| 1, 4 | Paris |", ONE, {}),
        (
            "documents: 1, 4\nanswer: Paris\ndocuments: 2\nanswer: Rome",
            [*ONE, {"documents": "2", "answer": "Rome"}],
            {},
        ),
        (
            "Group 1\ndocuments: 1, 4\n\nGroup 1\nanswer: Paris",
            ONE,
            {},
        ),  # a heading goes on with the part of its number
        ("documents: 1, 4\nanswer: Paris\nFinal answer: Paris", ONE, {"answer": "Paris"}),
        ("documents: 1, 4\nanswer: Paris\n<<<ANSWER>>> Paris <<</ANSWER>>>", ONE, {"answer": "Paris"}),
        ("documents: 1, 4\nanswer: Paris\nReason: It is\nsaid twice.", ONE, {"reason": "It is said twice."}),
        ("documents: 1, 4\nanswer: Paris\n---\nand so on", ONE, {}),  # a rule ends a field
        ("summary: It says, answer: Rome; documents: 2.", [{"summary": "It says, answer: Rome; documents: 2."}], {}),
        ("documents: 1, 4; answer: Paris", ONE, {}),
        ("GROUP 1 (documents 1, 4): answer: Paris", ONE, {}),
        ("It is Paris.", [], {}),
        ("", [], {}),
    ],
)
def test_a_reply_is_parts_and_the_fields_outside_them(reply: str, parts: object, fields: object) -> None:
    found, outside = FORM.parse(reply)
    assert ([filled(part) for part in found], filled(outside)) == (parts, fields)
