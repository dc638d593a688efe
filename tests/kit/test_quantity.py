"""Quantities decide whether two sources contradict each other."""

from __future__ import annotations

import pytest

from robust_qa.kit import quantities


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
