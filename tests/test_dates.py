"""Dates of passages: where they come from, and how they order the sides of a conflict."""

from datetime import date
from pathlib import Path

import pytest
from standins.reading import FORMATS, read

from robust_qa import Answer, Citation, Position
from robust_qa.cli.output import print_answer
from robust_qa.kit import iso_date
from robust_qa.kit.dates import day_named, newest_first
from rqa_bm25 import Bm25

ROW = '{"text": "It costs 4.20.", "date": "2024-05-31"}'


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2024-05-31", "2024-05-31"),
        ("2024-05-31T10:00:00Z", "2024-05-31"),
        (' "2024-05" # a comment', "2024-05"),
        ("2024", "2024"),
        ("2024-13-01", ""),
        ("2024-02-30", ""),
        ("31.05.2024", ""),
        ("\x1b[31m2024", ""),
    ],
)
def test_a_date_is_iso(text: str, date: str) -> None:
    assert iso_date(text) == date


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("6 May 2025", "2025-05-06"),
        ("May 6, 2025", "2025-05-06"),
        ("06.05.2025", "2025-05-06"),
        ("May 2025", "2025-05"),
        ("2025", "2025"),
        ("today", "2025-05-20"),
        ("yesterday", "2025-05-19"),
        ("last week", "2025-05-13"),
        ("2 weeks", "2025-05-06"),
        ("7d", "2025-05-13"),
        ("soon", ""),
    ],
)
def test_a_day_is_named_as_people_name_it(text: str, day: str) -> None:
    assert day_named(text, date(2025, 5, 20)) == day


@pytest.mark.parametrize(
    ("name", "content", "date"),
    [
        ("a.jsonl", ROW, "2024-05-31"),
        ("a.jsonl", '{"text": "It costs 4.20.", "date": "last year"}', ""),
        ("a.csv", "text,date\nIt costs 4.20.,2024-05\n", "2024-05"),
        ("a.md", "---\ntitle: Prices\ndate: 2024-05-31\n---\nIt costs 4.20.", "2024-05-31"),
        ("a.md", "---\ndate: 2023-01-01\nupdated: '2024-05-31'\n---\nIt costs 4.20.", "2024-05-31"),
        ("a.md", "It costs 4.20.\n\ndate: 2024-05-31", ""),
        ("a.html", '<meta name="date" content="2024-05-31"><p>It costs 4.20.', "2024-05-31"),
        (
            "a.html",
            '<meta content="2023-01-01T00:00" property="article:published_time">'
            '<META property="article:modified_time" content="2024-05-31T10:00:00+02:00"><p>It costs 4.20.',
            "2024-05-31",
        ),
        ("a.html", "<p>It costs 4.20. &lt;meta name=date content=2024-05-31&gt;", ""),
    ],
)
def test_a_document_has_the_date_that_it_states(tmp_path: Path, name: str, content: str, date: str) -> None:
    (tmp_path / name).write_text(content)
    [document] = read(tmp_path / name, lambda where, why: None)
    assert document.date == date


@pytest.mark.parametrize(
    ("name", "date"),
    [
        ("2024-05-12-minutes", "2024-05-12"),
        ("minutes_2024-05", "2024-05"),
        ("Report 2023 (final)", "2023"),
        ("rfc2024", ""),
        ("2024-13-01", ""),
        ("call-2024-0815", ""),
    ],
)
def test_a_document_without_a_date_has_that_of_its_name(tmp_path: Path, name: str, date: str) -> None:
    (tmp_path / f"{name}.txt").write_text("It costs 4.20.")
    bm25 = Bm25(Bm25.Options(index=tmp_path / "index"), formats=FORMATS)
    bm25.index([tmp_path / f"{name}.txt"])
    assert [passage.date for passage in bm25.retrieve("costs", 1)] == [date]


def side(text: str, date: str, *, chosen: bool = False) -> Position:
    return Position(text, None, (Citation(text, date=date),), chosen)


def test_sides_with_dates_are_ordered_by_them_after_the_chosen_one() -> None:
    sides = (side("a", "2020"), side("b", "2024-05"), side("c", "2019", chosen=True))
    assert [each.text for each in newest_first(sides)] == ["c", "b", "a"]
    assert [each.text for each in newest_first((side("a", "2020"), side("b", "")))] == ["a", "b"]


def test_a_conflict_says_which_side_is_newer(capsys: pytest.CaptureFixture[str]) -> None:
    print_answer(Answer(None, conflicts=(side("4.20", "2024-05"), side("3.80", "2020"))))
    lines = capsys.readouterr().out.splitlines()
    assert "○ newer, 2024-05: 4.20: [1]" in lines and "○ older, 2020: 3.80: [2]" in lines
