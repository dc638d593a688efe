"""Section 4.5: a question rewritten into keywords, by a model or by rules."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rqa_crag.keywords import extracted, parsed


@pytest.mark.parametrize(
    ("question", "keywords"),
    [
        ("What is Henry Feilden's occupation?", "Henry Feilden, occupation"),
        ("In what city was Billy Carlson born?", "city, Billy Carlson, born"),
        ("What is the religion of John Gwynn?", "religion, John Gwynn"),
        ("Who wrote The Lord of the Rings?", "wrote, The Lord of the Rings"),
        ('Who sang "Bohemian Rhapsody" first?', "sang, Bohemian Rhapsody, first"),
        ("when was the lighthouse built", "lighthouse built"),
        ("Who is the father of J. R. R. Tolkien?", "father, J. R. R. Tolkien"),
        ("東京の首都はどこですか？", "東京の首都はどこですか"),
        ("What's the capital of Burkina Faso?", "capital, Burkina Faso"),
        ("What’s the capital of Côte d'Ivoire?", "capital, Côte, d'Ivoire"),
        ("Where's Mount Etna?", "Mount Etna"),
        ("Who didn't sign Poland's treaty?", "sign, Poland, treaty"),
        ("What is C++?", "C++"),
        ("Who created C#?", "created, C#"),
        ("What is Ada Quill best known for?", "Ada Quill, best"),
        ("What happens at -40 °C?", "happens, -40 °C"),
        ("What does .NET run on?", ".NET, run"),
        ("Who won the 10,000 m race, Ann or Bob?", "10,000 m race, Ann, Bob"),
        (
            "who plays number 5 on the umbrella academy season 2 episode 10",
            "plays number 5, umbrella academy season 2 episode 10",
        ),
        ("Which is older, the iPhone 4 or the iPad 2?", "older, iPhone 4, iPad 2"),
        ("who started world war 2", "started world war 2"),
        ("Who won the 2014 World Cup?", "won, 2014 World Cup"),
        ("Who directed 12 Angry Men?", "directed, 12 Angry Men"),
        ("Who won World War 2 in 1945?", "won, World War 2, 1945"),
        ("Where - in Hull - is -it?", "Hull"),
        ("Who is it?", "Who is it"),
        ("", ""),
    ],
)
def test_rules_take_names_and_what_is_asked_about_them(question: str, keywords: str) -> None:
    assert extracted(question) == keywords


def test_of_more_than_three_the_names_and_the_longest_are_taken() -> None:
    question = "Which tall lighthouse near Skerry Point was finished by Ada Quill before the great storm came in 1871?"
    assert extracted(question) == "Skerry Point, Ada Quill, 1871"


@pytest.mark.parametrize(
    ("reply", "keywords"),
    [
        ("Henry Feilden, occupation", "Henry Feilden, occupation"),
        ("Query: Henry Feilden, occupation\nHe was a general.", "Henry Feilden, occupation"),
        ('- keywords: "Henry Feilden"; occupation.', "Henry Feilden, occupation"),
        ("Here is the query:\n\nHenry Feilden, occupation", "Henry Feilden, occupation"),
        ("检索词如下：\nQuery：Henry Feilden，occupation", "Henry Feilden, occupation"),
        ("a, b, a, c, d", "a, b, c"),
        ("1. Henry Feilden\n2. occupation\n\nHe was a general.", "Henry Feilden, occupation"),
        ('```json\n{"query": "Henry Feilden, occupation"}\n```', "Henry Feilden, occupation"),
        ('{"keywords": ["Henry Feilden", "occupation"]}', "Henry Feilden, occupation"),
        ("1871 storm, harbour", "1871 storm, harbour"),
        ("10,000 Maniacs, formation year", "10,000 Maniacs, formation year"),
        (".NET, release year.", ".NET, release year"),
        ("C, -40 degrees", "C, -40 degrees"),
        ("- [Henry Feilden] -, -occupation", "Henry Feilden, occupation"),
        ("東京、首都", "東京, 首都"),
        ("\x1b[31mred\x07, b", "31mred, b"),
        ("I don't know.", ""),
        ("", ""),
        (" , ; \n . ", ""),
        ("word " * 100, ""),
    ],
)
def test_a_reply_gives_at_most_three_keywords(reply: str, keywords: str) -> None:
    assert parsed(reply) == keywords


@given(st.text(max_size=200))
def test_any_text_is_a_question_and_a_reply(text: str) -> None:
    for found in (extracted(text), parsed(text)):
        assert "\n" not in found and found.count(", ") <= max(2, text.count(", "))


@pytest.mark.parametrize("text", ["A" * 200_000, "a " * 100_000, '"' * 200_000, "A.'" * 70_000, "Of " * 70_000])
def test_a_huge_text_takes_no_time(text: str) -> None:
    began = time.monotonic()
    extracted(text)
    parsed(text)
    assert time.monotonic() - began < 1
