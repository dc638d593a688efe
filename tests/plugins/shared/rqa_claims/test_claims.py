"""Whether two answers are one, in other words, and the values that decide whether sources contradict each other."""

from __future__ import annotations

import pytest

from rqa_claims import Claim, same_name, with_normal_values


def claim(answer: str) -> Claim:
    return Claim.at(f"It is {answer}, they say.", 6, 6 + len(answer))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("3 May 2024", "May 3rd, 2024", True),
        ("3 May 2024", "2024-05-03", True),
        ("May 2024", "2024-05-03", True),
        ("3 May 2024", "13 May 2024", False),
        ("28 November", "November 28th", True),
        ("28 November", "2024-11-28", True),
        ("28 November", "the 5th of December", False),
        ("5 km", "5 kilometres", True),
        ("around 1-2 bytes", "1-2 bytes", True),
        ("5000 m", "5km", True),
        ("5 km", "5 kg", False),
        ("two years", "24 months", True),
        ("two years", "12 months", False),
        ("$5 million", "5,000,000 dollars", True),
        ("€ 385", "388 euros", False),
        ("50%", "50 percent", True),
        ("10:30 pm", "22:30", True),
        ("10 am", "10 p.m.", False),
        ("14:00-19:00", "2 pm to 7 pm", True),
        ("14:00-19:00", "15:00 to 19:00", False),
        ("forty seats", "40 seats", True),
        ("twenty-eight days", "28 days", True),
        ("twenty-eight days", "20 days", False),
        ("20 euros", "20 dollars", False),
        ("12,50 €", "12.50 euros", True),
        ("EUR 1.250,00", "1,250 euros", True),
        ("20 metres", "20 feet", False),
        ("no faster than 30 km/h", "30 km/h", True),
        ("20 tonnes", "20,000 kg", True),
        ("4 May 1931", "04.05.1931", True),
        ("red", "red", False),  # no quantity: their words decide
    ],
)
def test_one_quantity_in_other_words(one: str, other: str, same: bool) -> None:
    assert claim(one).agrees(claim(other)) is same


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("A. Berg", "Dr. Anna Berg", True),
        ("Prof. Berg", "Dr. Anna Berg", True),
        ("Anna M. Berg", "Anna Berg", True),
        ("Maria González", "Maria Gonzalez", True),
        ("Tomas Lind", "Anna Lind", False),
        ("North Korea", "South Korea", False),
        ("the mill", "old mill", False),
    ],
)
def test_names_of_one_person(one: str, other: str, same: bool) -> None:
    assert same_name(one, other) is same_name(other, one) is same


def test_values_become_the_same_words() -> None:
    assert with_normal_values("Seven days, by May 3rd, 2024") == with_normal_values("one week, by 3 May 2024")
