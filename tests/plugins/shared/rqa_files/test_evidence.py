"""What is quoted and answered from files whose text has no full stops, and from text that is no statement."""

from __future__ import annotations

import json
from pathlib import Path

import openpyxl
import pypandoc
import pytest
from standins.reading import read

import robust_qa

FILES = {
    "valves.csv": "part,name,price EUR\nKX-77/2,gasket,12.40\nKX-77/3,gasket large,9.90\nKX-78/1,seal,3.10\n",
    "backup.log": (
        "2026-03-01 02:00:01 INFO backup of vault started\n"
        "2026-03-01 02:04:40 ERROR backup of vault failed: disk full\n"
        "2026-03-01 02:05:02 INFO mail sent to admin\n2026-03-01 03:00:00 INFO backup of museum started\n"
    ),
    "pumps.md": "# Pumps\n\n| Pump | Flow |\n|---|---|\n| Heron | 40 l/min |\n| Otter | 75 l/min |\n| Coot | 20 l/min",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documents")
    for name, content in FILES.items():
        (folder / name).write_text(content, encoding="utf-8")
    return folder


@pytest.mark.parametrize("reader", ["embedded", "lexical"])
@pytest.mark.parametrize(
    "name, question, row, line",
    [
        ("valves.csv", "What is the price of KX-77/3?", "part: KX-77/3; name: gasket large; price EUR: 9.90", 3),
        ("pumps.md", "What is the flow of the Otter?", "Pump: Otter; Flow: 75 l/min", 6),
    ],
)
def test_the_row_that_answers_is_marked_and_placed(
    folder: Path, reader: str, name: str, question: str, row: str, line: int
) -> None:
    answer = robust_qa.ask(question, docs=folder / name, reader=reader)
    shown = [*answer.citations, *answer.closest][0]
    assert shown.highlight is not None
    at = shown.quote.index(row)
    assert at <= shown.highlight[0] < shown.highlight[1] <= at + len(row)
    assert shown.where == f"{folder / name}:{line}"


@pytest.mark.parametrize("reader", ["embedded", "lexical"])
def test_a_long_row_is_quoted_from_the_sentence_that_fits(tmp_path: Path, reader: str) -> None:
    long = "The crew washes the deck with salt water and a brush after each trip to the islands in the north. " * 3
    (tmp_path / "jobs.csv").write_text(f"no,job\n1,Oil the winch.\n2,{long}The anchor weighs 85 kilograms.\n3,Rest.\n")
    answer = robust_qa.ask("What does the anchor weigh?", docs=tmp_path, reader=reader)
    shown = [*answer.closest, *answer.citations][0]
    assert "The anchor weighs 85 kilograms." in shown.quote
    assert shown.where == f"{tmp_path / 'jobs.csv'}:3"


@pytest.mark.parametrize("reader", ["embedded", "lexical"])
def test_a_line_of_a_log_answers_alone(folder: Path, reader: str) -> None:
    answer = robust_qa.ask("Why did the backup of vault fail?", docs=folder / "backup.log", reader=reader)
    assert answer.text is not None
    assert answer.text in "2026-03-01 02:04:40 ERROR backup of vault failed: disk full"


@pytest.mark.parametrize(
    "text, question",
    [
        ("[00:12] Uma: So who paints the boat?\n[00:15] Bo: We need green paint.", "Who paints the boat?"),
        ("How do I open the hatch?\n\nTurn the wheel to the left.", "How do I open the hatch?"),
        ("Dear all,\n\nthe oven is broken. Use the one upstairs.", "Is everything all right, dear?"),
    ],
)
def test_neither_a_question_nor_a_greeting_is_an_answer(tmp_path: Path, text: str, question: str) -> None:
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    answer = robust_qa.ask(question, docs=tmp_path)
    first = text.partition("\n")[0]
    assert not answer.text or answer.text not in first
    assert first not in [each.quote for each in (*answer.citations, *answer.closest)]


@pytest.mark.parametrize("reader", ["embedded", "lexical"])
@pytest.mark.parametrize(
    "text, question, wrong",
    [
        ("The hatch is 55 EUR.\n\n> The hatch costs 40 EUR.\n", "How much does the hatch cost?", "40 EUR"),
        (
            "Cost of the tour\n\nGuests pay 9 EUR per person on this tour.\n",
            "What is the cost of the tour?",
            "Cost of the tour",
        ),
        (
            "Walkers go up to the hut.\n\nreturn 60 / slope(\n    minutes,\n)\n",
            "How long do walkers need to the hut?",
            "return 60",
        ),
    ],
)
def test_neither_earlier_mail_nor_a_heading_nor_other_code_is_an_answer(
    reader: str, text: str, question: str, wrong: str
) -> None:
    answer = robust_qa.ask(question, passages=[text], reader=reader)
    assert wrong not in (answer.text or "")
    assert not any(wrong in side.text for side in answer.conflicts)
    assert not any(wrong in each.quote[slice(*each.highlight)] for each in answer.closest if each.highlight)


def test_text_that_is_struck_out_or_hidden_is_left_out_and_counted(tmp_path: Path) -> None:
    page = (
        "<p>Entry is <del>8 EUR</del> <ins>9 EUR</ins>.</p><p hidden>Closed in May.</p><table><tr><td>Mon<td "
        'style="display: none">shut<td>open</table><div class="cookie-banner"><p>We store 812 cookies.</div>'
    )
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    (tmp_path / "fees.md").write_text("The fee is ~~40 EUR~~ 55 EUR.\n", encoding="utf-8")
    skipped: list[tuple[str, str]] = []
    found = {path.name: list(read(path, lambda *each: skipped.append(each))) for path in sorted(tmp_path.iterdir())}
    assert " ".join(found["page.html"][0].text.split()) == "Entry is 9 EUR. Mon | open"
    assert found["fees.md"][0].text.split() == "The fee is 55 EUR.".split()
    assert [why for _, why in skipped] == [
        "read without 2 struck out or hidden words",
        "read without 10 struck out or hidden words",
    ]


@pytest.mark.parametrize(
    "name, content",
    [
        (
            "yields.html",
            "<table><tr><th rowspan=2>Crop<th colspan=2>North<th colspan=2>South<tr><th>2024<th>2025<th>2024<th>2025"
            "<tr><td>Rye<td>2.8<td>2.9<td>2.7<td>3.1</table>",
        ),
        ("yields.csv", "Crop,North,,South,\n,2024,2025,2024,2025\nRye,2.8,2.9,2.7,3.1\n"),
        ("below.csv", ",North,,South,\nCrop,2024,2025,2024,2025\nRye,2.8,2.9,2.7,3.1\n"),
        (
            "yields.md",
            "| Crop | North | | South | |\n|--|--|--|--|--|\n| |2024|2025|2024|2025|\n|Rye|2.8|2.9|2.7|3.1|\n",
        ),
    ],
)
def test_a_heading_over_several_columns_belongs_to_each(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    (document,) = read(tmp_path / name, print)
    assert document.text == "Crop: Rye; North 2024: 2.8; North 2025: 2.9; South 2024: 2.7; South 2025: 3.1"


def test_the_front_matter_of_a_note_is_found(tmp_path: Path) -> None:
    note = (
        "---\nowner: Ida Moe\ndue: 2026-04-17\naliases:\n  - Project Owl\n---\nThe [[Owl Ltd|glassworks]] delivers.\n"
    )
    (tmp_path / "Beacon project.md").write_text(note, encoding="utf-8")
    (document,) = read(tmp_path / "Beacon project.md", print)
    assert document.text == (
        "owner: Ida Moe; due: 2026-04-17; aliases: Project Owl\n\nThe glassworks (Owl Ltd) delivers."
    )


@pytest.mark.parametrize(
    "name, content, words, where",
    [
        ("fees.csv", "boat,fee\n" + "".join(f"Boat {n},{n * 7} EUR\n" for n in range(1, 9)), "Boat 5 35 EUR", ":6"),
        ("a.log", "".join(f"12:0{n} INFO job {n} has ended\n" for n in range(9)), "job 7", ":8"),
        (
            "a.txt",
            "Rules\n\nNo dogs are allowed in the hall. The\nlights go out\nat ten. The key\nhangs low.",
            "key",
            ":5",
        ),
        ("a.py", "import os\n\n\nLIMIT = 3\n\n\nclass Boat:\n    oars = 2\n\n\n    sails = 1\n", "sails", ":11"),
        ("a.md", "# Setup\n\n```sh\nmake\n\nmake install\n```\n", "make install", ":6"),
        (
            "b.md",
            "# Mast\n\nNo guest may climb up here while the\nnests are in use. The mast is new.\n",
            "The mast",
            ":4",
        ),
        (
            "a.html",
            "<h1>Mast</h1>\n<p>No guest may climb up\nwhile <a\n href='n'>nests</a> are in use.\n The mast\n is new.",
            "The mast",
            ":5",
        ),
        (
            "a.eml",
            "From: a@b.org\nTo: c@b.org\nSubject: Mast\n\nNo guest may climb up.\n\nThe mast is new and\nhigh.\n",
            "The mast is high",
            ":7",
        ),
        (
            "a.ipynb",
            json.dumps(
                {
                    "nbformat": 4,
                    "cells": [
                        {"cell_type": "markdown", "source": "No guest may climb up."},
                        {"cell_type": "markdown", "source": "The mast is new."},
                    ],
                }
            ),
            "The mast",
            ", cell 2",
        ),
    ],
)
def test_a_quote_stands_at_the_line_that_is_printed(
    tmp_path: Path, name: str, content: str, words: str, where: str
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    answer = robust_qa.ask(words, docs=tmp_path, reader="lexical")
    assert [*answer.citations, *answer.closest][0].where == f"{tmp_path / name}{where}"


@pytest.mark.parametrize("format", ["docx", "odt"])
def test_a_quote_of_a_word_processor_file_stands_at_its_paragraph(tmp_path: Path, format: str) -> None:
    source = (
        "# Boats\n\nNo guest steers.\n\n- Oars are wet.\n\n| Boat | Rent |\n|--|--|\n| Heron | 40 |\n| Otter | 75 |\n"
    )
    pypandoc.convert_text(source, format, "markdown", outputfile=str(tmp_path / f"a.{format}"))
    answer = robust_qa.ask("What is the rent of the Otter?", docs=tmp_path)
    assert [*answer.citations, *answer.closest][0].where.endswith(f"a.{format}, paragraph 6")


@pytest.mark.parametrize(
    "name, content, messages",
    [
        (
            "slack.txt",
            "Ada Moe\n  9:02 AM\nWhen is it down?\nBo Lie\n  9:04 AM\nOn Monday,\nfor an hour\n",
            "[{} AM] {}: {}",
        ),
        ("teams.txt", "[9:02] Ada Moe\nWhen is it down?\n[9:04] Bo Lie\nOn Monday,\nfor an hour\n", "[{}] {}: {}"),
        ("otter.txt", "Ada Moe  9:02\nWhen is it down?\n\nBo Lie  9:04\nOn Monday,\nfor an hour\n", "[{}] {}: {}"),
        (
            "zoom.vtt",
            "WEBVTT\n\n9:02:00.000 --> 9:02:02.000\nAda Moe: When is it down?\n\n9:04:00.000 --> 9:04:03.000\n"
            "Bo Lie: On Monday,\n\n9:04:03.000 --> 9:04:04.000\nBo Lie: for an hour\n",
            "[{}:00] {}: {}",
        ),
    ],
)
def test_a_message_is_read_with_the_speaker_and_time_on_another_line(
    tmp_path: Path, name: str, content: str, messages: str
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    (document,) = read(tmp_path / name, print)
    said = [("9:02", "Ada Moe", "When is it down?"), ("9:04", "Bo Lie", "On Monday, for an hour")]
    shown = [messages.format(*each) for each in said]
    assert [block.text for block in document.blocks] == shown
    answer = robust_qa.ask("When is it down?", docs=tmp_path)
    assert "Ada" not in (answer.text or "")


def test_a_quote_of_a_sheet_stands_at_its_row(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (("Rents of 2026",), (), ("Boat", "Rent"), ("Heron", 40), (), ("Otter", 75), ("Stork", 20)):
        book.active.append(row)
    book.save(tmp_path / "rents.xlsx")
    answer = robust_qa.ask("What is the rent of the Otter?", docs=tmp_path)
    assert [*answer.citations, *answer.closest][0].where.endswith("rents.xlsx, Sheet row 6")


def test_the_cells_of_a_sheet_are_read_at_once_however_far_apart(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for cell, value in (("C2", "Boat"), ("F2", "Rent"), ("C3", "Otter"), ("F3", 75), ("XFD1048576", "Ada")):
        book.active[cell] = value
    book.save(tmp_path / "far.xlsx")
    (document,) = read(tmp_path / "far.xlsx", print)
    assert [(block.text, block.line) for block in document.blocks] == [("Boat: Otter; Rent: 75", 3), ("Ada", 1048576)]


def test_a_table_in_the_output_of_a_notebook_is_read_by_its_columns(tmp_path: Path) -> None:
    output = {
        "text/html": ["<table><tr><th>site</th><th>mean wind</th></tr>", "<tr><td>Holm</td><td>6.9</td></tr></table>"],
        "text/plain": "    site  mean wind\n0   Holm        6.9",
    }
    cell = {"cell_type": "code", "source": "frame", "outputs": [{"output_type": "execute_result", "data": output}]}
    (tmp_path / "wind.ipynb").write_text(json.dumps({"nbformat": 4, "cells": [cell]}))
    (document,) = read(tmp_path / "wind.ipynb", lambda *_: None)
    assert "site: Holm; mean wind: 6.9" in document.text and "0   Holm" not in document.text


def test_a_row_is_found_by_its_mark_in_another_form(folder: Path) -> None:
    answer = robust_qa.ask("What is the price of KX773?", docs=folder / "valves.csv")
    assert [*answer.citations, *answer.closest][0].place == "line 3"


def test_a_row_is_asserted_only_if_the_question_singles_it_out(folder: Path) -> None:
    assert robust_qa.ask("What is the flow of the Otter?", docs=folder / "pumps.md").text == "75 l/min"
    assert robust_qa.ask("Which pump has the lowest flow?", docs=folder / "pumps.md").text is None
