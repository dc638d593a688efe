"""Values in texts, and what two of them say of each other: values.tsv has 150 pairs, half of them by another author."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from rqa_claims import Relation, relate, values

with Path(__file__).with_name("values.tsv").open(encoding="utf-8", newline="") as file:
    PAIRS = [tuple(row) for row in csv.reader(file, delimiter="\t")][1:]
OPEN = (Relation.WITHIN, Relation.OVERLAPPING)


@pytest.mark.parametrize(("claimed", "told", "relation"), PAIRS)
def test_what_a_text_says_of_a_claimed_value(claimed: str, told: str, relation: str) -> None:
    ([mine], [theirs]) = values(claimed), values(told)
    found = relate(mine, theirs)
    assert ("open" if found in OPEN else str(found)) == relation


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The fee is $1,850 a season.", ["1850 money dollar"]),
        ("It costs EUR 1.250,00 or 12,50 €.", ["1250 money euro", "12.5 money euro"]),
        ("It cost £5 million.", ["5000000 money pound"]),
        ("A notice of two weeks, not 14 days.", ["1209600 duration"] * 2),
        ("Water it twice a week.", ["302400 period"]),
        ("The pier is 1.5 km long and 20 feet wide.", ["1500 length", "6.096 length"]),
        ("Keep it at 5 °C with 40% of salt.", ["5 temperature", "40 share"]),
        ("It opened on May 3rd, in May 2024, on 2024-05-03.", ["158 yearday", "2024 05", "2024 05 03"]),
        ("It closes at 10:30 pm, or 22:30.", ["1350 clock"]),
        ("It closes at 18:00.", ["1080 clock"]),
        ("It needs firmware 1.34.0.", ["1.034 version"]),
        ("It was built in 1871, by twenty-eight men.", ["1871", "28 number men"]),
        ("Open Tuesday to Friday from 10 to 17, except Monday.", ["1 2 3 4 weekday", "600 1020 clock", "0 weekday"]),
        ("One of the keepers left.", []),
    ],
)
def test_a_value_has_a_kind_and_one_form(text: str, found: list[str]) -> None:
    assert [each.key for each in values(text)] == found
    assert all(text[each.start : each.end] == each.text for each in values(text))
