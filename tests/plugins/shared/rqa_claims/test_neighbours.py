"""Sentences about another member of a series than the one that a question names."""

from __future__ import annotations

import pytest

from robust_qa import Passage
from robust_qa.kit import closest_texts
from rqa_claims import Asked, of_the_same
from rqa_claims.neighbours import heading_above

TENTS = "The red tent is free of charge. The blue tent costs 30 EUR."
BUSES = "Bus 4 leaves at 07:10, bus 7 leaves at 08:20."
CLUB = "In 2019 the club had 80 members, in 2021 it had 95."
FILES = "NTP servers are listed. The temporary files are removed. USR1 log rotation is there."
WOODS = "wood: Oak; price: 42 EUR\nwood: Walnut; stock: 3\nwood: Beech; price: 30 EUR"
FLEET = "The Alba can carry forty passengers. The Corin can carry 1,200 passengers."


@pytest.mark.parametrize(
    ("question", "sentence", "at", "above", "another"),
    [
        ("How much does the red tent cost?", "The blue tent costs 30 EUR.", "30", "", True),
        ("How much does the blue tent cost?", "The blue tent costs 30 EUR.", "30", "", False),
        ("How much does the red tent cost?", "The tent costs 30 EUR.", "30", "", False),
        ("How much does the red tent cost?", "The blue tent costs 30 EUR.", "30", "Red tents", False),
        ("When does bus 5 leave?", BUSES, "07:10", "", True),
        ("When does bus 7 leave?", BUSES, "08:20", "", False),
        ("When does bus 7 leave?", BUSES, "07:10", "", True),
        ("When does bus 7 leave?", "It leaves at 07:10.", "07:10", "Times > Bus 4", True),
        ("How many members had the club in 2021?", CLUB, "95", "", False),
        ("How many members had the club in 2021?", CLUB, "80", "", True),
        ("How many members had the club in 2020?", CLUB, "80", "", True),
        ("How many passengers can the Alba carry?", "The Corin can carry 1,200 passengers.", "1,200", "", True),
        ("How much memory does version 2.2 need?", "Version 2.1 needs 4 GB.", "4 GB", "", True),
        ("When does the shop close on Wednesdays?", "On Tuesdays the shop closes at 18:00.", "18:00", "", True),
        ("Where was the Alba built?", "The Alba, built in London, is a ship.", "London", "", False),
        ("When was the Alba built?", "14 November 1871.", "1871", "", False),
        ("Who borrowed T-023?", "T-022 was lent to the archive.", "archive", "", True),
        ("Who borrowed T-023?", "T-023 was lent to the archive, with T-022.", "archive", "", False),
        ("Is the course for a child aged 8?", "It is for children aged 6 to 10.", "6", "", False),
        ("Is the tower 50 metres tall?", "The tower is 32 metres tall.", "32", "", False),
        ("When did the board hire Runa Lie?", "3 March 2023: It closed the gate for Lie.", "3", "", False),
        ("How many NTP servers does it need?", "The client should have at least three servers.", "three", "", False),
        ("Where are the temporary files?", "They are set in the configuration files.", "set", "", False),
        (
            "Why does USR1 log rotation fail?",
            "It fails for want of signals.",
            "want",
            "Logs Definition > Log Rotation",
            False,
        ),
        ("What is the price of Walnut?", "wood: Beech; price: 30 EUR", "30", "", True),
        ("What is the price of Beech?", "wood: Beech; price: 30 EUR", "30", "", False),
        ("What did the Alba carry?", "2023-03-03: The gate was closed.", "gate", "", True),
    ],
)
def test_a_sentence_names_another_thing(question: str, sentence: str, at: str, above: str, another: bool) -> None:
    asked = Asked.of(question, [TENTS, BUSES, CLUB, FLEET, FILES, WOODS, sentence])
    assert asked.is_about_another(sentence, sentence.index(at), above) is another


def test_an_item_is_about_what_its_first_sentence_names() -> None:
    loans = Passage("- T-022 lent to the archive. Insured for 2,400 EUR.")
    start = loans.text.index("Insured")
    assert Asked.of("What is T-023 insured for?", [loans.text, "T-023"]).is_astray(loans, start, len(loans.text))


def test_what_is_there_instead_is_told() -> None:
    assert (
        Asked.of("When does bus 5 leave?", [BUSES]).missing([BUSES]) == "Nothing here is about bus 5; there are 4, 7."
    )
    assert Asked.of("When does bus 4 leave?", [BUSES]).missing([BUSES]) == ""


@pytest.mark.parametrize(
    ("claim", "text", "others"),
    [
        ("Line 4 runs every hour.", "Line 4 runs hourly. Line 7 runs daily.", True),
        ("Line 4 runs every hour.", "Line 4 runs hourly, on line 4.", False),
        ("The roof of the Blue Room leaks.", "The Red Room is dry, and the Blue Room is not.", True),
        ("T-023 is insured.", "T-022 is lent. T-023 is here.", True),
        ("The tower is tall.", "The Old Tower and the New Tower.", False),
    ],
)
def test_a_passage_is_about_several_members(claim: str, text: str, others: bool) -> None:
    assert Asked.of(claim, [text]).has_others(text) is others


def test_the_heading_above_a_sentence_is_that_in_its_passage() -> None:
    text = "Line 4\n\nFirst bus 5:12.\n\nLine 7\n\nFirst bus 5:50."
    passage = Passage(text, title="Our lines", lines=(0, 0, 3, 0, 0, 0, 7))
    assert heading_above(passage, text.index("5:12")) == "Our lines > Line 4"
    assert heading_above(passage, text.index("5:50")) == "Our lines > Line 7"


SEATS = (
    "Heron is the big cabin by the jetty. It is wood-fired and seats fourteen. "
    "Otter is the barrel at the top of the bank. It has an electric heater and seats six."
)


@pytest.mark.parametrize(("name", "own"), [("Heron", "It is wood-fired"), ("Otter", "It has an electric")])
def test_a_pronoun_stands_for_what_the_sentence_before_it_is_about(name: str, own: str) -> None:
    passage = Passage(SEATS)
    other = {"It is wood-fired": "It has an electric", "It has an electric": "It is wood-fired"}[own]
    asked = Asked.of(f"How many does {name} seat?", [SEATS])
    assert not asked.is_astray(passage, SEATS.index(own), SEATS.index(own) + 2)
    assert asked.is_astray(passage, SEATS.index(other), SEATS.index(other) + 2)
    units = closest_texts(f"{name} seats six.", [passage], 9, 4)
    judged = [text for _, text in of_the_same(f"{name} seats six.", units, [passage])]
    assert SEATS not in judged and all(text.startswith(name) for text in judged)
    assert any(own in text for text in judged)


def test_a_table_is_judged_by_the_row_that_is_named() -> None:
    table = "Day: Monday; Library: closed; Cafe: 9-17\nDay: Tuesday; Library: 10-18; Cafe: closed"
    question, passages = "Is the library open on Tuesday?", [Passage(table)]
    units = of_the_same(question, closest_texts(question, passages, 9, 4), passages)
    assert [text for _, text in units] == [table.split("\n")[1]]
