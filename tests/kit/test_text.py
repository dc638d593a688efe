from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robust_qa.kit import (
    STOPWORDS,
    answer_key,
    contains_answer,
    content_terms,
    gold_facts,
    is_yes_no,
    near_copies,
    normalise,
    printable,
    sentences,
    whole_characters,
)


def split(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Dr. J. Smith of the U.S. Navy left.", ["Dr. J. Smith of the U.S. Navy left."]),
        ("J.K. Rowling met H.G. Wells.", ["J.K. Rowling met H.G. Wells."]),
        ("He left the F.B.I. Ann stayed.", ["He left the F.B.I.", "Ann stayed."]),
        ('"Go." She went.', ['"Go."', "She went."]),
        ("Born in 1925.[3] He fell.[4][n 1] _Gone._ Ann", ["Born in 1925.[3]", "He fell.[4][n 1]", "_Gone._", "Ann"]),
        ('**In 1925.**[^3] He left.² "He fell."⁴ Ann', ["**In 1925.**[^3]", "He left.²", '"He fell."⁴', "Ann"]),
        ("Heading\n\nBody text", ["Heading", "Body text"]),
        ("第一句。第二句。", ["第一句。", "第二句。"]),
        ("राम घर गया। सीता आई॥", ["राम घर गया।", "सीता आई॥"]),
        ("وہ گیا۔ کیا وہ آئی؟ ہاں", ["وہ گیا۔", "کیا وہ آئی؟", "ہاں"]),
        ("Ports:\n- Kiel, Uwe\n  Brandt\n* Riga\n12. Oulu", ["Ports:", "- Kiel, Uwe\n  Brandt", "* Riga", "12. Oulu"]),
        ("# Ports\n| Kiel | 3 |\n| Riga | 5 |", ["# Ports", "| Kiel | 3 |", "| Riga | 5 |"]),
        ("It was -\n-5 there, in\n1990. Then it\n*fell*.", ["It was -\n-5 there, in\n1990.", "Then it\n*fell*."]),
        (
            "12:01 INFO start\n12:02 ERROR disk full\n12:09 INFO end",
            ["12:01 INFO start", "12:02 ERROR disk full", "12:09 INFO end"],
        ),
        ("Uma: who has the key?\nBo: I do", ["Uma: who has the key?", "Bo: I do"]),
        ("def area(r):\n    return PI * r * r\nPI = 3.14", ["def area(r):", "return PI * r * r", "PI = 3.14"]),
        ("Oslo\nBergen\nRiga", ["Oslo", "Bergen", "Riga"]),
        (
            "The mole was built by the\ncity, which sold it to an\nItalian.",
            ["The mole was built by the\ncity, which sold it to an\nItalian."],
        ),
        ("Port: Riga; Piers: 3\nPort: Kiel; Piers: 5", ["Port: Riga; Piers: 3", "Port: Kiel; Piers: 5"]),
        ("  \n ", []),
    ],
)
def test_sentences_end_where_a_reader_would_stop(text: str, expected: list[str]) -> None:
    assert split(text) == expected


@given(st.text())
def test_sentences_lose_nothing_but_space(text: str) -> None:
    assert "".join("".join(split(text)).split()) == "".join(text.split())


@pytest.mark.parametrize(
    "text, expected",
    [("The  Beatles!", "beatles"), ("an A-Team", "ateam"), ("Anthem", "anthem"), ("", "")],
)
def test_normalise_is_squads(text: str, expected: str) -> None:
    assert normalise(text) == expected


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("The Jane Austen!", "jane austen", True),
        ("1.5 million", "15 million", False),
        ("1,500", "1500", True),
        ("-5 °C", "5 °C", False),
        ("3-1", "31", False),
        ("2019-05-03", "2019/05/03", True),
        ("\u22125", "-5", True),
        ("10²", "10^2", True),
        ("O\u2019Brien", "O'Brien", True),
        ("\u201cO'Brien\u201d", "O'Brien", True),
        ("Jean\u2010Luc", "Jean-Luc", True),
        ("Cafe\u0301", "Café", True),
        ("巴黎。", "巴黎", True),
        ("A", "", False),
        ("+", "-", False),
        ("C++", "C#", False),
        ("3-5 days", "3.5 days", False),
        ("3\u20135 days", "3-5 days", True),
        ("10.30", "10:30", True),
        ("1,5", "1.5", True),
        (".5 mg", "0.5 mg", True),
        ("-$3", "$-3", True),
        ("< 5 mg", "> 5 mg", False),
        ("\u2265 3.9", "< 3.9", False),
    ],
)
def test_answers_with_one_key_say_the_same(one: str, other: str, same: bool) -> None:
    assert (answer_key(one) == answer_key(other)) is same


@pytest.mark.parametrize("negative", ["−15 degrees", "Minus 15 degrees"])
def test_a_number_is_not_among_the_words_of_its_negative(negative: str) -> None:
    assert "15" not in answer_key(negative).split()
    assert answer_key(negative) == answer_key("-15 degrees")


def test_an_answer_counts_when_any_gold_one_is_contained() -> None:
    assert contains_answer("It was The Beatles, in 1963.", ["Rolling Stones", "the beatles"])
    assert not contains_answer("It was Queen.", ["the beatles"])


def test_gold_answers_are_facts_with_the_ways_to_say_them() -> None:
    assert gold_facts(["a b ", "c", "c", None, 7, "!"]) == [["a b", "c", "7"]]
    assert gold_facts([["x", "y"], "z", ["the"]]) == [["x", "y"], ["z"]]
    assert gold_facts([]) == gold_facts(["...", "the"]) == []


def test_half_a_character_is_replaced_and_a_whole_one_is_not() -> None:
    assert whole_characters("a\ud83db\U0001f600\udc00") == "a\ufffdb\U0001f600\ufffd"


@pytest.mark.parametrize(
    ("first", "last"),
    [(0x0, 0x8), (0xB, 0x1F), (0x7F, 0x9F), (0x202A, 0x202E), (0x2066, 0x2069), (0xD800, 0xDFFF), (0xE0000, 0xE007F)],
    ids=["C0", "C0 after newline", "C1", "overrides", "isolates", "half pairs", "tags"],
)
def test_nothing_that_steers_is_printable(first: int, last: int) -> None:
    assert printable("a" + "".join(map(chr, range(first, last + 1))) + "b") == "ab"


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ("THE bridge was built in 1902 by the harbour board, and the board still owns it today", True),
        ("The bridge was built in 1902 by the harbour board, and the board still owns it today. Page 3", True),
        ("The bridge was built in 1911 by the town council, and the board still owns it today.", False),
        ("", False),
    ],
)
def test_near_copies_differ_in_few_words(other: str, expected: bool) -> None:
    text = "The bridge was built in 1902 by the harbour board, and the board still owns it today."
    assert near_copies(text, other) == near_copies(other, text) == expected


@pytest.mark.parametrize(
    ("question", "wants"),
    [
        ("May I use the kitchen after ten?", True),
        ("isn't the pool open today", True),
        ("Does it support IPv6 or not?", True),
        ("We are 24 people, do you take a group of that size?", True),
        ("What does it cost, is it 20 EUR?", False),
        ("Is the committee temporary or permanent?", False),
        ("When is the pool open?", False),
        ("Isar water level?", False),
    ],
)
def test_questions_that_want_yes_or_no(question: str, wants: bool) -> None:
    assert is_yes_no(question) is wants


def test_terms_are_in_the_order_of_the_text_without_stopwords() -> None:
    assert content_terms("Who wrote the Dialogues of Plato?") == ["wrot", "dialog", "plato"]
    assert content_terms(" ".join(STOPWORDS)) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [("gate", "Gates"), ("director", "directed"), ("Savić", "Savic"), ("fail", "failed"), ("close", "closing")],
)
def test_forms_of_a_word_have_one_stem(one: str, other: str) -> None:
    assert content_terms(one) == content_terms(other)


def test_characters_of_scripts_without_spaces_are_words() -> None:
    assert content_terms("東京の首都") == ["東", "京", "の", "首", "都"]
