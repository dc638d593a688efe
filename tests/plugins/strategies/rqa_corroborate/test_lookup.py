"""A question that looks up a cell of a table is answered with the cell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

TABLE = """Department,Manager,Budget,Head count,Site
Archive,Jo Lind,,4,Kiel
Logistics,Anna Petrov,"815,000 EUR",42,Kiel
Sales,Tom Reed,"1,200,000 EUR",60,Rostock
IT,Mia Chen,"640,000 EUR",25,Kiel
"""


@pytest.fixture
def ask(rqa: Any, tmp_path: Path) -> Any:
    (tmp_path / "budget.csv").write_text(TABLE)
    return lambda question: json.loads(rqa("ask", "--json", "-d", tmp_path, question).out)


@pytest.mark.parametrize(
    ("question", "value", "column", "key"),
    [
        ("What is the budget of Logistics?", "815,000 EUR", "Budget", "Logistics"),
        ("What is the head count of IT?", "25", "Head count", "IT"),
        ("Who is the manager of Sales?", "Tom Reed", "Manager", "Sales"),
        ("Which department does Mia Chen manage?", "IT", "Department", "IT"),
    ],
)
def test_the_answer_is_the_cell_with_its_column_and_row(
    ask: Any, question: str, value: str, column: str, key: str
) -> None:
    given = ask(question)
    assert given["answer"] == value
    cell = given["table_cell"]
    assert (cell["value"], cell["column"], cell["row"]["Department"]) == (value, column, key)
    assert given["citations"][0]["quote"].count("Department: ") == 1  # the row alone


@pytest.mark.parametrize(
    ("question", "value"),
    [("How much is a ten-session card for Otter?", "95.00"), ("What is the Heron price of a towel?", "2.00")],
)
def test_the_unit_of_a_column_is_not_asked_for(ask: Any, tmp_path: Path, question: str, value: str) -> None:
    prices = (
        "Item,Heron (GBP),Otter (GBP)\nSingle session,14.00,11.00\nTen-session card,120.00,95.00\nTowel,2.00,3.00\n"
    )
    (tmp_path / "prices.csv").write_text(prices)
    assert ask(question)["answer"] == value


def test_a_cell_that_several_rows_have_is_not_looked_up(ask: Any) -> None:
    assert (ask("What is the budget of the site Kiel?")["table_cell"] or {}).get("value") != "1,200,000 EUR"


def test_an_empty_cell_is_told(ask: Any) -> None:
    given = ask("What is the budget of Archive?")
    assert (given["answer"], given["best_guess"]) == (None, None)
    assert given["reason"].endswith("has no Budget for Archive.")


def test_a_table_without_the_column_has_no_empty_cell_in_it(ask: Any, tmp_path: Path) -> None:
    (tmp_path / "phones.csv").write_text("Extension,Owner\n12,Archive\n14,Sales\n")
    assert ask("What is the extension of Archive?")["reason"].count("has no Extension") == 0
    assert ask("What is the budget of Archive?")["reason"].endswith("budget has no Budget for Archive.")


def test_a_document_that_says_something_else_is_heard(ask: Any, tmp_path: Path) -> None:
    (tmp_path / "minutes.md").write_text("The budget of Logistics is 900,000 EUR, the board decided.\n")
    given = ask("What is the budget of Logistics?")
    assert "900,000" in json.dumps([given["answer"], given["best_guess"], given["conflicts"], given["closest"]])
    assert given["confidence"] != 0.9


def test_a_question_that_wants_yes_or_no_gets_no_cell(ask: Any) -> None:
    assert ask("Is the head count of IT 25?")["table_cell"] is None
