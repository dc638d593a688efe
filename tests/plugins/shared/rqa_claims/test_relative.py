"""Relative times, by the date of the document that says them."""

from __future__ import annotations

import pytest

from rqa_claims import worked_out_times


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("It broke last Friday.", "last Friday is 7 March 2025"),
        ("The fitter comes tomorrow.", "tomorrow is 13 March 2025"),
        ("The inspection was three weeks ago.", "three weeks ago is 19 February 2025"),
        ("The fair is in two weeks.", "in two weeks is 26 March 2025"),
        ("It opens next month.", "next month is April 2025"),
        ("It closed last year.", "last year is 2024"),
        ("It is open on Friday.", ""),
    ],
)
def test_a_time_is_told_with_its_date(text: str, told: str) -> None:
    assert worked_out_times(text, "2025-03-12") == told  # a Wednesday


def test_a_document_without_a_day_tells_nothing() -> None:
    assert worked_out_times("It broke yesterday.", "2025-03") == ""
