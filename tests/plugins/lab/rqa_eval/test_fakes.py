"""Fake answers drawn from the other questions of a set."""

from collections.abc import Sequence

import pytest

from rqa_eval.conditions import attacked
from rqa_eval.fakes import with_fakes
from rqa_eval.items import Item

COUNTRIES = [(f"In what country is {town}?", country) for town, country in (("Bonn", "Germany"), ("Lyon", "France"))]
JOBS = [("What is Ann Lee's occupation?", "painter"), ("What is Bo Ek's occupation?", "lawyer")]
CAPITALS = [("What is the capital of Chile?", "Santiago"), ("What is the capital of Peru?", "Lima")]


def drawn(questions: Sequence[tuple[str, str]], seed: int = 0) -> dict[str, tuple[str, str]]:
    """For each question its fake answer, and what it was drawn from."""
    items = [Item(n, question, gold=[[gold]]) for n, (question, gold) in enumerate(questions, start=1)]
    return {item.question: (item.fake_answer, item.fake_source) for item in with_fakes(items, seed)}


@pytest.mark.parametrize("seed", range(5))
def test_they_are_of_questions_that_begin_and_end_alike(seed: int) -> None:
    found = drawn([*COUNTRIES, *JOBS, *CAPITALS], seed)
    for (question, mine), (other, theirs) in (COUNTRIES, JOBS, CAPITALS):
        assert (found[question], found[other]) == ((theirs, "alike"), (mine, "alike"))


def test_a_number_is_answered_with_a_number() -> None:
    questions = [("When was the gate built?", "1871"), ("When was the gate lost?", "in the war")]
    assert drawn([*questions, ("When was it?", "May 1902")])["When was the gate built?"] == ("May 1902", "alike")


def test_yes_is_answered_with_no() -> None:
    found = drawn([("Are both alive?", "yes"), ("Did either win?", "no"), ("Are both of them here?", "Paris")])
    assert (found["Are both alive?"], found["Did either win?"]) == (("no", "alike"), ("yes", "alike"))


def test_who_alone_tells_the_kind() -> None:
    found = drawn([("Who sang it?", "Ann Lee"), ("Who wrote Emma?", "Jane Austen"), ("Name a fish", "cod")])
    assert found["Who sang it?"] == ("Jane Austen", "alike")


def test_without_similar_questions_any_other_is_used() -> None:
    found = drawn([*COUNTRIES, ("Name a fish", "cod")])
    assert found["Name a fish"] in {("Germany", "other"), ("France", "other")}


def test_the_gold_answer_itself_is_no_fake() -> None:
    found = drawn([*COUNTRIES, ("In what country is Nice?", "the France"), ("In what country is Pau?", "France, EU")])
    assert {found[f"In what country is {town}?"][0] for town in ("Lyon", "Nice", "Pau")} == {"Germany"}


def test_a_set_of_one_question_has_none() -> None:
    assert drawn(COUNTRIES[:1]) == {"In what country is Bonn?": ("", "")}


def test_the_longest_alternative_is_replaced() -> None:
    item = Item(1, "Where?", gold=[["York", "York City"]], passages=[{"text": "In York City."}], fake_answer="Oslo")
    assert attacked("counterfactual", 1).apply(item, seed="").passages == [{"text": "In Oslo."}]


def test_the_set_has_its_own() -> None:
    (found,) = with_fakes([Item(1, "Who?", gold=[["A"]], fake_answer="B")], seed=0)
    assert (found.fake_answer, found.fake_source) == ("B", "")
