"""Whether two answers are one, in other words, and the quantities that decide whether sources contradict each other."""

from __future__ import annotations

import pytest

from robust_qa.kit import Claim, quantities, same_name, with_normal_quantities


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


def test_quantities_become_the_same_words() -> None:
    assert with_normal_quantities("Seven days, by May 3rd, 2024") == with_normal_quantities("one week, by 3 May 2024")


def test_a_ratio_and_a_time_of_day() -> None:
    assert [each.kind for each in quantities("It closes at 18:00. The ratio is 10:30:20.")] == ["clock"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The fee is $1,850 a season.", [("money dollar", "1850")]),
        ("It costs EUR 1.250,00 or 12,50 €.", [("money euro", "1250"), ("money euro", "12.5")]),
        ("It cost £5 million.", [("money pound", "5000000")]),
        ("A notice of two weeks, not 14 days.", [("duration", "1.21e+06")] * 2),  # in seconds, rounded
        ("Water it twice a week.", [("duration", "302400")]),
        ("The pier is 1.5 km long and 20 feet wide.", [("length", "1500"), ("feet", "20")]),
        ("Keep it at 5 °C with 40% of salt.", [("temperature", "5"), ("share", "40")]),
        ("It opened on 3 May 2024.", [("date", "2024-05-03")]),
        (
            "It opened on May 3rd, in May 2024, on 2024-05-03.",
            [("date", "05-03"), ("date", "2024-05"), ("date", "2024-05-03")],
        ),
        ("It closes at 10:30 pm, or 22:30.", [("clock", "1350"), ("clock", "1350")]),
        ("It needs firmware 1.34.0.", [("version", "1.34.0")]),
        ("It was built in 1871, by twenty-eight men.", [("count men", "28")]),
        ("It has stood there since 1971.", [("year", "1971")]),
        ("Room 12 is on the left.", []),
    ],
)
def test_a_quantity_has_a_kind_and_a_normal_value(text: str, found: list[tuple[str, str]]) -> None:
    assert [(each.kind, each.value) for each in quantities(text)] == found
    assert all(text[each.start : each.end] == each.text for each in quantities(text))
