import pytest
from hypothesis import given
from hypothesis import strategies as st

from robust_qa import Completion, Passage
from robust_qa.reading import parse_reading

PASSAGES = [Passage("a"), Passage("b"), Passage("c")]


@pytest.mark.parametrize(
    ("reply", "text", "passages"),
    [
        ('{"documents": [2, 1], "answer": "Paris"}', "Paris", (1, 0)),
        ('```json\n{"documents": [3], "answer": "Paris"}\n```', "Paris", (2,)),
        ("Documents: 1, 3\nAnswer: Paris", "Paris", (0, 2)),
        ("**Answer:** Paris\n**Documents:** 2", "Paris", (1,)),
        ("Paris", "Paris", ()),
        ('{"documents": [9, 2, 2], "answer": "Paris"}', "Paris", (1,)),
        ('{"documents": "1 and 2", "answer": 1889}', "1889", (0, 1)),
        ('{"documents": [1], "answer": 0}', "0", (0,)),
        ('{"documents": [], "answer": null}', None, ()),
        ("Documents: none\nAnswer: UNKNOWN", None, ()),
        ("Answer: I don't know.", None, ()),
        ("", None, ()),
    ],
)
def test_replies_are_understood(reply: str, text: str | None, passages: tuple[int, ...]) -> None:
    reading = parse_reading(Completion(reply), PASSAGES)
    assert (reading.text, reading.passages) == (text, passages)


def test_an_answer_that_begins_like_a_refusal_is_an_answer() -> None:
    assert parse_reading(Completion("Answer: None but the Lonely Heart"), PASSAGES).text == (
        "None but the Lonely Heart"
    )


@given(st.text())
def test_no_reply_breaks_the_parser(reply: str) -> None:
    reading = parse_reading(Completion(reply), PASSAGES)
    assert all(0 <= position < 3 for position in reading.passages)
