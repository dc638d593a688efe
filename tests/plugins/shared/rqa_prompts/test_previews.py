"""Previews: the answer in a reply that is still being written."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rqa_prompts import json_preview, one_line, prose_preview
from rqa_prompts.reading import preview

ANSWER = "Ingrid Valdane, who was the engineer of the lighthouse at Skerry Point"


def shown(preview_of, reply: str) -> list[str]:
    """The texts that are shown one after the other while the reply is written."""
    texts = [preview_of(reply[:end]) for end in range(len(reply) + 1)]
    return [text for text, before in zip(texts[1:], texts, strict=False) if text != before]


def test_the_answer_field_of_an_object_is_shown_as_it_grows() -> None:
    reply = json.dumps({"documents": [1, 2], "answer": ANSWER, "reason": "It says so there, and so it is."})
    texts = shown(json_preview, reply)
    assert len(texts) > 20 and texts[-1] == ANSWER
    assert all(ANSWER.startswith(text) for text in texts)


@given(st.text(min_size=1), st.booleans())
def test_a_preview_is_a_prefix_of_the_answer(answer: str, ascii_only: bool) -> None:
    reply = json.dumps({"documents": [], "answer": answer}, ensure_ascii=ascii_only)
    for text in shown(json_preview, reply):
        assert one_line(answer).replace("*", "").startswith(text.replace("*", "").rstrip())


@pytest.mark.parametrize(
    "answer",
    ["UNKNOWN", "I don't know.", "The documents do not contain the answer to this question.", "Not stated in the text"],
)
def test_an_answer_that_declines_is_not_shown(answer: str) -> None:
    assert shown(json_preview, json.dumps({"answer": answer})) == []
    assert shown(prose_preview, answer) == []
    assert shown(preview, f"Documents: none\nAnswer: {answer}") == []


def test_the_answer_line_of_a_reading_is_shown() -> None:
    texts = shown(preview, f"Documents: 1, 2\nAnswer: {ANSWER}\n")
    assert texts[-1] == ANSWER and all(ANSWER.startswith(text) for text in texts)


def test_reasoning_is_not_shown() -> None:
    reply = f"<think>\nThe engineer may be somebody else than the keeper.\n</think>\n{ANSWER}"
    texts = shown(prose_preview, reply)
    assert texts[-1] == ANSWER and all(ANSWER.startswith(text) for text in texts)
