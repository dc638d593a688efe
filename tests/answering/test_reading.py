import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robust_qa import Completion, CutError, Passage
from robust_qa.answering.reading import parse_reading

PASSAGES = [Passage("a"), Passage("b"), Passage("c")]


@pytest.mark.parametrize(
    ("reply", "text", "passages"),
    [
        ('{"documents": [2, 1], "answer": "Paris"}', "Paris", (1, 0)),
        ('```json\n{"documents": [3], "answer": "Paris"}\n```', "Paris", (2,)),
        ("Documents: 1, 3\nAnswer: Paris", "Paris", (0, 2)),
        ("**Answer:** Paris\n**Documents:** 2", "Paris", (1,)),
        ("Documents: 1\nAnswer: **Paris**", "Paris", (0,)),
        ("Documents: 1\nAnswer: -40", "-40", (0,)),
        ("Documents: 1\nAnswer: $5 million", "$5 million", (0,)),
        ('Documents: 1\nAnswer: "Hey Jude"', '"Hey Jude"', (0,)),
        ("Documents:\nAnswer: Paris", "Paris", ()),
        ("Documents: 1\nFinal answer: Paris", "Paris", (0,)),
        ("Documents: 1\nThe answer is: Paris", "Paris", (0,)),
        ("Documents:\n2\nAnswer:\n\n- Paris", "Paris", (1,)),
        ("Documents: 2-3\nAnswer: Paris", "Paris", (1, 2)),
        ("Documents: none of the 3 documents\nAnswer: Paris", "Paris", ()),
        ("Documents: 1\nParis", "Paris", (0,)),
        ("Documents: 1, 3\n\nParis is the capital.", "Paris is the capital.", (0, 2)),
        ("Documents: 1, Answer: Paris", "Paris", (0,)),
        ("**Documents:** 1 **Answer:** Paris", "Paris", (0,)),
        ("Documents：1\nAnswer：Paris", "Paris", (0,)),
        ("Documents：1，3\nThe final answer is：Paris", "Paris", (0, 2)),
        ("文档：1, 3\n答案：巴黎", "巴黎", (0, 2)),
        ("**Dokumente:** 2\n**Antwort:** Paris", "Paris", (1,)),
        ("Dokumente: -\nAntwort: UNKNOWN", None, ()),
        ("Paris: 2\nLyon: 3\nLille: 4", "Paris: 2\nLyon: 3\nLille: 4", ()),
        ("Paris: big\nLyon: small", "Paris: big\nLyon: small", ()),
        ("The film is:\nStar Wars: A New Hope", "The film is:\nStar Wars: A New Hope", ()),
        ("Paris", "Paris", ()),
        ('{"documents":[1],"answer":"The "Rough Riders""}', 'The "Rough Riders"', (0,)),
        ('{\n "documents": [1],\n "answer": "The "Rough Riders""\n}', 'The "Rough Riders"', (0,)),
        ('{"documents":[2],"answer":"The "pearl", he said","reason":"x"', 'The "pearl", he said', (1,)),
        ('{"documents":[1] "answer":"Paris"}', "Paris", (0,)),
        ("{'documents': [1], 'answer': 'Paris'}", "Paris", (0,)),
        ('{"documents":[1],"answer":"Paris"', "Paris", (0,)),
        ('{"documents":[1],"answer":Paris}', "Paris", (0,)),
        ('```json\n{"Documents":[3],"Answer":"Paris"}\n```', "Paris", (2,)),
        ('{"documents":[1] "answer":"unknown"}', None, ()),
        ('{"documents": [9, 2, 2], "answer": "Paris"}', "Paris", (1,)),
        ('{"documents": "1 and 2", "answer": 1889}', "1889", (0, 1)),
        ('{"documents": [1], "answer": 0}', "0", (0,)),
        ('{"documents": ["1-3"], "answer": ["Paris", "Lyon"]}', "Paris, Lyon", (0, 1, 2)),
        ('{"documents": [1], "answer": false}', "no", (0,)),
        ('{"documents": [], "answer": null}', None, ()),
        ("Documents: none\nAnswer: UNKNOWN", None, ()),
        ("Answer: I don't know.", None, ()),
        ("", None, ()),
    ],
)
def test_replies_are_parsed(reply: str, text: str | None, passages: tuple[int, ...]) -> None:
    reading = parse_reading(Completion(reply), PASSAGES)
    assert (reading.text, reading.passages) == (text, passages)


@pytest.mark.parametrize(
    "reply",
    [
        '{"documents": [1], "',
        '{"documents": [1], "answer": "Pa',
        "Documents: 1\nAns",
        "Documents: 1\nAnswer: Pa",
        "Documents: 1\nAnswer:\nPa",
        "Answer:\nDocuments: 1, 1, 1, 1",
        "Well, the",
        "<think>Let me see",
    ],
)
def test_a_reply_cut_within_its_answer_is_an_error(reply: str) -> None:
    with pytest.raises(CutError, match="max_tokens") as raised:
        parse_reading(Completion(reply, finish="length"), PASSAGES)
    assert "Raise `max_tokens`" in raised.value.hint
    assert not raised.value.retryable


@pytest.mark.parametrize(
    "reply",
    [
        '{"documents": [1], "answer": "Paris"} For',
        "Answer: Paris\nDocuments: 1, 1, 1, 1",
        "Answer:\nParis\nDocuments: 1, 1, 1, 1",
    ],
)
def test_a_reply_cut_after_its_answer_is_parsed(reply: str) -> None:
    reading = parse_reading(Completion(reply, finish="length"), PASSAGES)
    assert (reading.text, reading.passages) == ("Paris", (0,))


@pytest.mark.parametrize("reply", ["", " \n", "<think>Let me see</think>"])
def test_an_empty_reply_has_a_reason(reply: str) -> None:
    reading = parse_reading(Completion(reply), PASSAGES)
    assert (reading.text, reading.reason) == (None, "The language model's reply is empty.")
    assert not parse_reading(Completion("Answer: unknown"), PASSAGES).reason


@pytest.mark.parametrize("reply", ["Documents: 1", '{"documents": [1]}', "{", '{"documents":[1],"answer":'])
def test_a_reply_without_an_answer_has_a_reason(reply: str) -> None:
    reading = parse_reading(Completion(reply), PASSAGES)
    assert (reading.text, reading.reason) == (None, "The language model's reply has no answer.")


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
        parse_reading(Completion(reply), PASSAGES)
    for reply in _LONG:
        with pytest.raises(CutError):
            parse_reading(Completion(reply, finish="length"), PASSAGES)
    assert time.process_time() - began < 2


@given(st.text())
def test_no_reply_breaks_the_parser(reply: str) -> None:
    reading = parse_reading(Completion(reply), PASSAGES)
    assert all(0 <= position < 3 for position in reading.passages)
