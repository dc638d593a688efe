"""What the values of a text say of those of a claim, before a judge reads the words."""

from __future__ import annotations

import pytest

from robust_qa import Judgment
from rqa_claims import Standing, align

HOURS = "Open Monday to Saturday 8 am to 10 pm, Sunday 9 am to 8 pm."
ROW = "Item: Ten-session card; Heron (GBP): 120.00; Otter (GBP): 95.00"
CLUB = "In 2019 the club had 80 members, in 2021 it had 95 members."


@pytest.mark.parametrize(
    ("claim", "text", "read", "standing"),
    [
        ("It costs more than 20 EUR.", "It costs 30 EUR.", "It costs 30 EUR.", Standing.HOLD),
        ("It opened on 2024-04-03.", "It opened on 3 April 2024.", "It opened on 3 April 2024.", Standing.HOLD),
        ("It is open on Monday.", "Open Tuesday to Friday.", "It is open on Tuesday to Friday.", Standing.EXCLUDED),
        ("It stood at 250 EUR.", "It stood at (250) EUR.", "It stood at (250) EUR.", Standing.EXCLUDED),
        ("It opened in 1894.", "It opened in the 1890s.", "It opened in the 1890s.", Standing.OPEN),
        ("It costs 40 USD.", "It costs 40 EUR.", "It costs 40 USD.", Standing.MISSING),
        ("Can it carry 10 people?", "It carries up to 12 people.", "Can it carry up to 12 people?", Standing.HOLD),
        ("Does it cost 10 EUR?", "It costs up to 12 EUR.", "Does it cost up to 12 EUR?", Standing.OPEN),
        ("In 2019 it had 80 members.", "In 2021 it had 80 members.", "In 2021 it had 80 members.", Standing.OPEN),
        ("Bus 4 leaves at 9:00.", "Bus 7 leaves at 9:00.", "bus 7 leaves at 9:00.", Standing.OPEN),
        ("Tank 3 holds 4200 l.", "Tank 3 holds 4.200 l.", "Tank 3 holds 4.200 l.", Standing.HOLD),
        ("The booster costs £52.50.", "item: booster; price_gbp: 52.50", "The booster costs 52.50.", Standing.HOLD),
        ("Open on Sunday at 20:30?", HOURS, "Open on Sunday at 9 am to 8 pm?", Standing.EXCLUDED),
        ("Open on Friday at 20:30?", HOURS, "Open on Monday to Saturday at 8 am to 10 pm?", Standing.HOLD),
        ("In 2021 it had 80 members.", CLUB, "In 2021 it had 95 members.", Standing.EXCLUDED),
        (
            "May a 15 year old use it?",
            "From 14 years it may be used.",
            "May a from 14 years old use it?",
            Standing.HOLD,
        ),
        ("In spring it gave 8 kg.", "spring_kg: 8; summer_kg: 22", "In spring it gave 8.", Standing.HOLD),
        ("It was spun on June 7, 2024.", "6/7/2024: spun.", "It was spun on 6/7/2024.", Standing.OPEN),
        ("Bus 413 has 34 seats.", "number: 412; seats: 36", "Bus 413 has 36 seats.", Standing.OPEN),
        (
            "The minimum age is 18.",
            "Any person of the age of 18 or over.",
            "The minimum age is 18 or over.",
            Standing.HOLD,
        ),
        (
            "It won in 2003, and led in 2004.",
            "It won in 2003 and led in 2004.",
            "It won in 2003, and led in 2004.",
            Standing.HOLD,
        ),
        (
            "It won in 2003, and led in 2005.",
            "It won in 2003, and led in 2004.",
            "It won in 2003, and led in 2004.",
            Standing.EXCLUDED,
        ),
        ("It is never lower than 1.5 m.", "It is 1.60 to 2.15 m.", "It is never 1.60 to 2.15 m.", Standing.OPEN),
        ("The keeper left.", "The keeper stayed in 1980.", "The keeper left.", Standing.HOLD),
    ],
)
def test_a_claim_is_read_with_the_values_of_the_text(claim: str, text: str, read: str, standing: Standing) -> None:
    found = align(claim, text)
    assert (found.claim.lower(), found.standing) == (read.lower(), standing)


def test_words_and_values_make_the_verdict() -> None:
    words = Judgment(0.9, 0.05)
    assert align("It costs 30 EUR.", "Its price is 30 EUR.").weighed(words) == words
    assert align("It costs 40 EUR.", "It costs 30 EUR.").weighed(words) == Judgment(0.0, 0.9)
    assert align("It costs 40 USD.", "It costs 30 EUR.").weighed(Judgment(0.1, 0.8)) == Judgment(0.0, 0.0)
    assert align("It syncs two folders.", "It does not sync folders.").weighed(Judgment(0.1, 0.8)).contradicted == 0.8


def test_what_stands_there_word_for_word_is_supported() -> None:
    claim = "The hall was opened on 12 May 1998."
    assert align(claim, f"{claim} It is open from 07:30.").weighed(Judgment(0.1, 0.9)).supported > 0.99


@pytest.mark.parametrize(
    ("claim", "left"),
    [
        ("A ten-session card for Otter costs £120.", "Item: Ten-session card; Otter (GBP): 95.00"),
        ("Is Otter open in the week?", "Item: Ten-session card; Otter (GBP): 95.00"),
        ("A ten-session card costs £120.", ROW),
    ],
)
def test_a_row_is_read_in_the_columns_that_the_claim_names(claim: str, left: str) -> None:
    assert align(claim, ROW).text == left


def test_a_value_of_another_column_is_excluded() -> None:
    assert align("A ten-session card for Otter costs £120.", ROW).standing is Standing.EXCLUDED
    hours = "Day: Wednesday; Heron: 14:00-21:00; Otter: closed"
    assert align("Is Otter open on Wednesday?", hours).text == "Day: Wednesday; Otter: closed"
