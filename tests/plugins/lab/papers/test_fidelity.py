"""The table of fidelity names tests that exist, and has a row for each method of the papers' recipes."""

import re
from pathlib import Path

import pytest

from rqa_lab.recipes import load

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "explanation" / "fidelity.md").read_text("utf-8")


def test_every_test_that_the_page_names_exists() -> None:
    sources = "\n".join(file.read_text("utf-8") for file in (ROOT / "tests").rglob("test_*.py"))
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert len(named) > 30 and not {name for name in named if f"def {name}(" not in sources}


@pytest.mark.parametrize("paper", ["astute", "crag", "activerag", "eor"])
def test_every_method_of_a_recipe_has_a_row(paper: str) -> None:
    tables = load(paper)["strategy"]
    methods = {table.get("plugin", name) for name, table in tables.items()} - {"rag", "norag"}
    rows = {name for row in re.findall(r"^\| (`.*?) \|", PAGE, re.M) for name in re.findall(r"`(\w+)`", row)}
    assert not methods - rows


def test_every_cell_of_a_paper_says_whether_it_is_faithful_by_naming_a_test_or_a_difference() -> None:
    own = PAGE.partition("## The papers' own methods")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|")[1:] for line in own.splitlines() if line.startswith("| `")]
    assert len(rows) == 6
    for cells in rows:
        assert len(cells) == 5
        assert all("`test_" in cell or "iffers" in cell or cell.strip() == "none" for cell in cells)
