"""Fake answers of `rqa eval --attack poison`, drawn from the other questions of a set."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

COUNTRIES = [(f"In what country is {town}?", country) for town, country in (("Bonn", "Germany"), ("Lyon", "France"))]
JOBS = [("What is Ann Lee's occupation?", "painter"), ("What is Bo Ek's occupation?", "lawyer")]
CAPITALS = [("What is the capital of Chile?", "Santiago"), ("What is the capital of Peru?", "Lima")]
Drawn = Callable[..., dict[str, tuple[str, str]]]


@pytest.fixture
def drawn(rqa: Any, question_set: Any) -> Drawn:
    """For each question its fake answer, and what it was drawn from."""

    def run(questions: Sequence[tuple[str, str]], *options: str, **fields: Any) -> dict[str, tuple[str, str]]:
        rows = [{"question": q, "answers": [gold], "passages": ["It is told."], **fields} for q, gold in questions]
        attack = ("--attack", "poison", "--rate", "1", *options)
        ended = rqa("eval", question_set(rows), "-s", "rag", "--reader", "lexical", "-o", "run", *attack)
        assert ended.code == 0, ended.err
        asked = [json.loads(line) for line in Path("run", "questions.jsonl").read_text().splitlines()]
        return {one["question"]: (one.get("fake_answer", ""), one.get("fake_source", "")) for one in asked}

    return run


def test_they_are_of_questions_that_begin_and_end_alike(drawn: Drawn) -> None:
    found = drawn([*COUNTRIES, *JOBS, *CAPITALS], "--seed", "3")
    for (question, mine), (other, theirs) in (COUNTRIES, JOBS, CAPITALS):
        assert (found[question], found[other]) == ((theirs, "alike"), (mine, "alike"))


@pytest.mark.parametrize(
    ("questions", "fake"),
    [
        (
            [("When was it built?", "1871"), ("When was it lost?", "in the war"), ("When was it?", "May 1902")],
            "May 1902",
        ),
        ([("Who sang it?", "Ann Lee"), ("Who wrote Emma?", "Jane Austen"), ("Name a fish", "cod")], "Jane Austen"),
    ],
    ids=["a number for a number", "who"],
)
def test_a_fake_answer_is_of_the_kind_of_the_gold_answer(drawn: Drawn, questions: Any, fake: str) -> None:
    assert drawn(questions)[questions[0][0]] == (fake, "alike")


def test_without_similar_questions_any_other_is_used(drawn: Drawn) -> None:
    assert drawn([*COUNTRIES, ("Name a fish", "cod")])["Name a fish"] in {("Germany", "other"), ("France", "other")}


def test_the_gold_answer_itself_is_no_fake(drawn: Drawn) -> None:
    found = drawn([*COUNTRIES, ("In what country is Nice?", "the France"), ("In what country is Pau?", "France, EU")])
    assert {found[f"In what country is {town}?"][0] for town in ("Lyon", "Nice", "Pau")} == {"Germany"}


def test_fake_answers_of_the_set_are_kept(drawn: Drawn) -> None:
    assert set(drawn(COUNTRIES, fake_answer="Peru").values()) == {("Peru", "")}
