"""Answers that no passage says in words: from cells, behind a pointer, dated by a document; and members not there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import robust_qa
from robust_qa import Answer

LEASE = """LEASE OF THE OLD CANNERY

2. Rent
2.1 The Tenant shall pay the rent set out in clause 7.3 on the first day of each month.
2.2 If the rent is late by more than ten days, the Tenant shall pay the surcharge in clause 7.4.

3. Repairs
3.1 The Landlord shall keep the roof and the outer walls in repair.
3.3 Works that cost more than 2,000 EUR need the consent described in 6.2.

7. Amounts
7.1 The deposit is 9,600 EUR.
7.2 The service charge is 140 EUR a month.
7.3 The rent is 3,200 EUR a month.
7.4 The surcharge is 5 % of the unpaid amount.
"""
TENTS = "The red tent is free of charge. The blue tent costs 30 EUR. The green tent costs next to nothing."
BUSES = "Bus 4 leaves at 07:10, bus 7 leaves at 08:20."
PRICES = "item,2024 EUR,2025 EUR\nCasement window,540,575\nTilting window,620,660\n"
LOG = "2025-05-06: The board bought a new crane.\n\n17.08.2024: The board hired Runa Lie.\n"


Ask = Callable[..., Answer]


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    def ask(question: str, text: str, name: str = "a.md") -> Answer:
        (tmp_path / name).write_text(text)
        return robust_qa.ask(question, docs=tmp_path, strategy="corroborate")

    return ask


def test_a_result_is_worked_out_from_cells_and_cites_them(ask: Ask) -> None:
    given = ask("What is the difference between the tilting window and the casement window in 2025?", PRICES, "a.csv")
    assert given.text == "-85" and given.reason.startswith("575 - 660 = -85: Casement window 2025 EUR, Tilting window")
    assert len(given.citations) == 2


def test_one_cell_is_no_result(ask: Ask) -> None:
    given = ask("What is the average price of all windows in 2025?", PRICES, "a.csv")
    assert given.text is None and given.best_guess is None


def test_a_pointer_is_followed_to_its_clause(ask: Ask) -> None:
    given = ask("What is the surcharge if the rent is late?", LEASE, "lease.txt")
    assert given.text == "7.4 The surcharge is 5 % of the unpaid amount."
    assert len(given.citations) == 2 and "2.2 If the rent is late" in given.reason


def test_a_relative_time_is_told_with_its_date(ask: Ask) -> None:
    mail = "# Boiler\n\nThe boiler of the Sund hall broke last Friday."
    given = ask("When did the boiler of the Sund hall break?", mail, "2025-03-12-mail.md")
    assert "Last Friday is 7 March 2025" in given.reason


@pytest.mark.parametrize(
    ("question", "text", "never"),
    [
        ("How much does the red tent cost?", TENTS, "30"),
        ("When does bus 5 leave?", BUSES, "07:10"),
        ("When did the board hire Runa Lie?", LOG, "crane"),
    ],
)
def test_a_neighbour_is_not_asserted(ask: Ask, question: str, text: str, never: str) -> None:
    given = ask(question, text)
    assert never not in (given.text or "") and never not in (given.best_guess.text if given.best_guess else "")


def test_an_abstention_tells_which_members_are_there(ask: Ask) -> None:
    assert ask("When does bus 5 leave?", BUSES).reason == "Nothing here is about bus 5; there are 4, 7."


def test_an_earlier_price_is_that_of_the_same_row(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "prices-2024.csv").write_text("item,price EUR\nCasement window,540\nTilting window,620\n")
    text = "item,price EUR\nCasement window,575\nTilting window,660\nRound window,1490\n"
    assert ask("What does the round window cost?", text, "prices-2025.csv").reason == "Of 2025."
    assert "before: 540 (2024)" in ask("What does the casement window cost?", text, "prices-2025.csv").reason


FACTS = "The blue tent costs 30 EUR.\n\nThe tower was built in 1871.\n\nThe museum is open from 10:00 to 17:00.\n\n"
FACTS += "The boat carries up to 12 passengers.\n\nThe course is for children aged 6 to 10."


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Does the blue tent cost more than 20 EUR?", "Yes"),
        ("Does the blue tent cost more than 40 EUR?", "No"),
        ("Was the tower built in the 19th century?", "Yes"),
        ("Was the tower built after 1900?", "No"),
        ("Is the museum open at 16:00?", "Yes"),
        ("Is the museum open at 18:00?", "No"),
        ("Can the boat carry 10 passengers?", "Yes"),
        ("Can the boat carry 15 passengers?", "No"),
        ("Is the course for a child aged 8?", "Yes"),
        ("Is the course for a child aged 12?", "No"),
    ],
)
def test_a_bound_is_worked_out(ask: Ask, question: str, answer: str) -> None:
    assert ask(question, FACTS).text == answer


FRIDGE = "5 Mar 24   4.6 °C   ML\n06/03/2024   9.1 °C   ML\n2024-03-08   4.4 °C   KO\n"


@pytest.mark.parametrize(("day", "told"), [("5 March 2024", "4.6 °C"), ("6 March", "9.1 °C"), ("08.03.2024", "4.4 °C")])
def test_the_entry_of_a_day_is_told_whatever_its_notation(ask: Ask, day: str, told: str) -> None:
    given = ask(f"What did the fridge show on {day}?", FRIDGE, "fridge_log.txt")
    assert told in (given.text or (given.best_guess and given.best_guess.text) or "")
