"""What patterns find: sentences and short answers, at their places."""

from __future__ import annotations

import subprocess
import sys

import pytest

from robust_qa import Passage
from robust_qa.english import candidates, content_terms

TEXT = "Ada Lovelace (10 December 1815 – 27 November 1852) was an English mathematician. She was born in London."


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Where was Ada Lovelace born?", "London"),
        ("When was Ada Lovelace born?", "10 December 1815"),
        ("What is Ada Lovelace's occupation?", "mathematician"),
    ],
)
def test_the_likeliest_short_answer_is_of_the_kind_that_is_asked_for(question: str, answer: str) -> None:
    passages = [Passage("Nothing of it."), Passage(TEXT, title="Ada Lovelace")]
    _, shorter = candidates(question, passages)
    best = max(shorter, key=lambda one: one.logit)
    assert passages[best.passage].text[best.start : best.end] == answer
    assert best.passage == 1
    assert 0 < best.likely < 1


@pytest.mark.parametrize("number", ["-15", "\N{MINUS SIGN}15", "-3.5%"])
def test_a_minus_belongs_to_its_quantity_and_a_dash_does_not(number: str) -> None:
    text = f"How many points Ada got in 1914-18: {number}."
    _, shorter = candidates("How many points did Ada get?", [Passage(text)])
    assert {text[one.start : one.end] for one in shorter} == {"1914", "18", number}


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        ("How many people live in Kesh?", "Over {} people live in Kesh.", "12 000"),
        ("How many people live in Kesh?", "In 1990 {} people lived in Kesh.", "200"),
        ("How many seats has Kesh?", "Kesh has {} seats.", "one hundred and twenty"),
        ("How many seats has Kesh?", "Kesh has one and {} seats.", "twenty"),
        ("How many seats has Kesh?", "Kesh has {} seats.", "twenty-five"),
        ("When was Ann born?", "Ann was born on {} in Kesh.", "1951-05-03"),
        ("When was Ann born?", "Ann was born on {} in Kesh.", "03/05/1951"),
        ("When was Ann born?", "Ann ({}\N{EN DASH}1999) was of Kesh.", "1951"),
        ("When did Ann die?", "Ann (1951\N{EN DASH}{}) was of Kesh.", "1999"),
        ("When was the siege of Kesh?", "The siege of Kesh, {}, was long.", "1914\N{EN DASH}18"),
        ("When was the siege of Kesh?", "The siege of Kesh was in {}.", "30 AD"),
        ("Which author wrote Number the Stars?", "Number the Stars was written by {}.", "Lois Lowry"),
        ("What colour is the gate?", "The gate is {}.", "off-white"),
        ("What colour is the gate?", "The gate is {}.", "light-blue"),
        ("What colour is the gate?", "The gate is {}.", "dark green"),
    ],
)
def test_numbers_dates_and_colours_are_found_whole(question: str, text: str, answer: str) -> None:
    text = text.format(answer)
    _, shorter = candidates(question, [Passage(text)])
    best = max(shorter, key=lambda one: one.logit)
    assert text[best.start : best.end] == answer


@pytest.mark.parametrize("text", ["The train to Kesh leaves at 9:05 CET.", "The train to Kesh has 30 ADs."])
def test_a_number_before_a_word_that_begins_like_an_era_is_no_date(text: str) -> None:
    assert candidates("When does the train to Kesh leave?", [Passage(text)])[1] == []


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (
            "What nationality is the author of Dracula?",
            "Dracula is a novel written by Bram Stoker, an Irish author.",
        ),
        ("What nationality is Petrov?", "Petrov is a Russian cyclist, who won a race in France."),
        (
            "What city was the capital of Kenya before Nairobi?",
            "Nairobi, a stop on the Uganda Railway, is the capital of Kenya.",
        ),
    ],
)
def test_where_patterns_know_nothing_of_the_kind_nothing_is_found(question: str, text: str) -> None:
    assert candidates(question, [Passage(text)])[1] == []


def test_sentences_come_with_the_likeliest_first_and_those_without_the_kind_asked_for_lose_by_it() -> None:
    passages = [Passage("Ada Lovelace died. Ada Lovelace died on 27 November 1852.")]
    sentences, _ = candidates("When did Ada Lovelace die?", passages)
    told = {passages[0].text[one.start : one.end]: one.logit for one in sentences}
    assert told["Ada Lovelace died on 27 November 1852."] > told["Ada Lovelace died."]
    plain, none = candidates("What became of Ada Lovelace, who died?", passages)
    assert none == []
    assert [one.logit for one in plain] == sorted((one.logit for one in plain), reverse=True)


def test_another_language_has_sentences_and_no_short_answers() -> None:
    sentences, shorter = candidates("¿Dónde nació Ada Lovelace?", [Passage("Ada Lovelace nació en Londres.")])
    assert sentences
    assert shorter == []


def test_content_terms_are_stems_in_order_without_stopwords() -> None:
    assert content_terms("Who wrote the Dialogues?") == ["write", "dialog"]


def test_the_host_does_not_import_it() -> None:
    program = (
        "import sys, robust_qa.answering, robust_qa.cli, robust_qa.main; sys.exit('robust_qa.english' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
