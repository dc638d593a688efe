"""Other scripts, broken text and huge text are read, with stable answers."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robust_qa import Passage
from rqa_lexical import Lexical

READER = Lexical(Lexical.Options(threshold=0))
QUESTIONS = (
    "Who was the director of Aaa?",
    "When was Aaa born?",
    "How many people live in Aaa?",
    "What is Aaa's occupation?",
    "Who is the mother of Aaa?",
    "What genre is Aaa?",
)
HOSTILE = {
    "names": "Aaa " * 50_000,
    "one word": "a" * 500_000,
    "NULs": "\0" * 100_000 + "director Bob",
    "characters that grow in lower case": "İ" * 50_000 + " director Bob Smith.",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_text_makes_reading_slow(text: str) -> None:
    started = time.process_time()
    for question in QUESTIONS:
        READER.read(question, [Passage(text, title="Aaa")])
    assert time.process_time() - started < 5


@given(question=st.text(max_size=60), text=st.text(max_size=200), title=st.text(max_size=20))
@settings(max_examples=150, deadline=None)
def test_offsets_hold_for_any_text(question: str, text: str, title: str) -> None:
    reading = READER.read(question, [Passage(text, title=title), Passage(f"{question} {text}")])
    assert (reading.score is None) == (reading.text is None) and 0 <= (reading.score or 0) <= 1
    if reading.text is not None:
        source = (text, f"{question} {text}")[reading.passages[0]]
        assert source[reading.start : reading.end].split() == reading.text.split(" ")


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        ("埃菲尔铁塔在哪个城市？", "面包由面粉制成。埃菲尔铁塔位于巴黎。", "埃菲尔铁塔位于巴黎。"),
        (
            "Où se trouve la tour Eiffel ?",
            "Le pain est bon. La tour Eiffel est à Paris.",
            "La tour Eiffel est à Paris.",
        ),
        ("Где находится Эрмитаж?", "Хлеб пекут. Эрмитаж находится в Петербурге.", "Эрмитаж находится в Петербурге."),
    ],
)
def test_other_languages_get_the_sentence(question: str, text: str, answer: str) -> None:
    assert READER.read(question, [Passage(text)]).text == answer


def test_a_text_without_sentences_is_answered_in_pieces() -> None:
    reading = READER.read("Which row names Zanzibar?", [Passage("word " * 5_000 + "Zanzibar " + "word " * 5_000)])
    assert reading.text is not None
    assert "Zanzibar" in reading.text
    assert len(reading.text) <= 500
