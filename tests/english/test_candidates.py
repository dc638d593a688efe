"""What patterns find: sentences and short answers, at their places."""

from __future__ import annotations

import subprocess
import sys

import pytest

from robust_qa import Passage, candidates, content_terms

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
    program = "import sys, robust_qa.session, robust_qa.cli; sys.exit('robust_qa.english' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
