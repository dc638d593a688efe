"""`rqa report` as a figure: data for pgfplots, and a PDF."""

import re
from pathlib import Path
from typing import Any

import pypdfium2
import pytest

ROWS = [
    {"question": f"Who built bridge {n}?", "answers": ["Ada"], "passages": [f"Ada built bridge {n}.", "It is long."]}
    for n in range(4)
]


@pytest.fixture
def attacked(rqa: Any, question_set: Any) -> Path:
    how = ("--attack", "poison", "--rate", "0,0.5,1", "--metrics", "accuracy")
    assert rqa("eval", question_set(ROWS), "-s", "rag,corroborate", "-o", "attacked", *how).code == 0
    return Path("attacked")


def test_data_for_pgfplots_has_a_row_for_each_condition(rqa: Any, attacked: Path) -> None:
    assert rqa("report", attacked, "-o", "figure.dat").code == 0
    comment, head, *rows = Path("figure.dat").read_text().splitlines()
    assert comment.startswith("% accuracy")
    strategies = [part for name in ("rag", "corroborate") for part in (name, f"{name}-low", f"{name}-high")]
    assert head.split() == ["x", "condition", *strategies]
    assert [row.split()[:2] for row in rows] == [["0", "poison-0"], ["0.5", "poison-0.5"], ["1", "poison-1"]]
    assert all(len(row.split()) == len(head.split()) for row in rows)


def test_one_condition_has_a_row_for_each_strategy(rqa: Any, run: Path) -> None:
    assert rqa("report", run, "-o", "figure.dat").code == 0
    _, head, *rows = Path("figure.dat").read_text().splitlines()
    assert head.split()[0] == "strategy" and {row.split()[0] for row in rows} >= {"rag"}


@pytest.mark.parametrize("several", [True, False])
def test_the_pdf_is_a_page_with_the_names_of_the_strategies(
    rqa: Any, attacked: Path, question_set: Any, several: bool
) -> None:
    if not several:
        ended = rqa("eval", question_set(ROWS), "-s", "rag,corroborate", "-o", "plain", "--metrics", "accuracy")
        assert ended.code == 0
    assert rqa("report", attacked if several else "plain", "-o", "figure.pdf").code == 0
    document = pypdfium2.PdfDocument(Path("figure.pdf"))
    page = document[0]
    text = page.get_textpage().get_text_range()
    assert len(document) == 1 and "rag" in text and "corroborate" in text and "accuracy (%)" in text
    pixels = page.render(scale=1).to_numpy()
    assert len({tuple(colour) for colour in pixels.reshape(-1, pixels.shape[-1])}) > 3  # axes and two colours
    assert re.search(rb"startxref\n\d+\n%%EOF", Path("figure.pdf").read_bytes())
