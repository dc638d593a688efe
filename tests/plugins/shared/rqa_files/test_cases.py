"""Small files from public reports of similar tools, and what must be read from them."""

from __future__ import annotations

from pathlib import Path

import pytest
from standins.reading import read

from rqa_files import Unreadable

CASES = Path(__file__).parents[5] / "shared" / "cases"
pytestmark = pytest.mark.skipif(not CASES.exists(), reason="the cases are not part of this repository")

TEXTS = [
    ("01/lease.docx", "The rent of the quarry is 4,310 crowns a year."),
    ("01/lease.docx", "Site: North pit; Manager: Ewan Moss; Opened: 1987"),
    ("03/ferry.docx", "The ferry sails at eleven o'clock."),
    ("05/workshop.docx", "Petra Holm smith"),
    ("07/windmill.txt", "The windmill at Marl Hill was built by Greta Olsen in 1846."),
    ("08/ja-eucjp.txt", "灯台守の名前は佐藤健一です。"),
    ("08/pl-cp1250.txt", "Łukasz Wiśniewski"),
    ("08/ru-cp1251.txt", "Смотрителя маяка звали Иван Петров."),
    ("08/zh-gbk.txt", "守塔人的名字是王小明。"),
    ("09/fee.eml", "The fee rises to 35 crowns on 1 May."),
    ("09/qp.eml", "The rent was agreed at 1450 crowns a month"),
    ("10/tide.ipynb", "The tide gauge was calibrated by Rosa Klein."),
    ("12/contract.pdf", "The contract begins on 1 May 2024."),
    ("22/caps.csv", "The south pier is kept by Per Lund."),
    ("22/piers.csv", "Pier: North; Keeper: Ida Wolf; Length: 120 m"),
    ("22/piers.json", "name: East pier; keeper: Lars Holt"),
    ("22/rows.jsonl", "keeper: Jens Falk"),
    ("22/sep.csv", 'The pier, "North", is kept by\nIda Wolf.'),
    ("29/a.adoc", "Year: 1991; Mayor: Una Bo"),
    ("29/book.tex", "The mayor of Odda is Jørn Øen."),
    ("29/notes.org", "Year: 1990; Mayor: Nils Oy"),
    ("29/page.mht", "The mayor of Lom is Siv Dahl."),
    ("29/really-docx.txt", "The mayor of Vik is Tor Aas."),
    ("29/really-html.doc", "The mayor of Nes is Ole Ness."),
    ("29/really-rtf.doc", "The mayor of Sund is Kari Moe."),
    ("29/sub.srt", "The mayor of Dal is Geir Lund."),
    ("30/hash-target.docx", "The mayor of Hol is Tom Vik."),
    ("30/no-grid.docx", "Boat: Gull; Skipper: Ivar Rød"),
    ("30/null-target.docx", "The mayor of Vik is Tor Aas."),
]
TITLES = [("09/qp.eml", "Ferry"), ("10/tide.ipynb", "Tide model"), ("29/a.adoc", "Mayors"), ("29/notes.org", "Mayors")]


def reports(file: str) -> list[str]:
    found: list[str] = []
    list(read(CASES / file, lambda where, why: found.append(why)))
    return found


@pytest.mark.parametrize(("file", "text"), TEXTS, ids=[file for file, _ in TEXTS])
def test_the_text_is_read_and_nothing_else(file, text):
    found = "\n".join(document.text for document in read(CASES / file, print))
    assert text in found
    assert not any(mark in found for mark in ("<div", "<html", "image/png", "=20", "\\section", '"cells"', "**"))


@pytest.mark.parametrize(("file", "title"), TITLES)
def test_the_title_comes_from_the_document(file, title):
    assert next(read(CASES / file, print)).title == title


def test_pages_that_are_pictures_are_reported():
    (reason,) = reports("12/contract.pdf")
    assert reason.startswith("2 pages are pictures without text (2, 3): install tesseract")


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("29/truncated.pdf", "it is damaged"),
        ("29/ole.docx", "neither text nor"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(file, reason):
    with pytest.raises(Unreadable, match=reason):
        reports(file)
