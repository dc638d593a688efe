"""Pages of PDF files: reading order, running heads, sentences over pages, and tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from standins.reading import read

import robust_qa
from rqa_files import Document, Unreadable

Placed = tuple[float, float, str]
"""Where a line of text begins, in points from the bottom left, and the line."""


def pdf_with(*pages: Sequence[Placed], title: str = "", rules: Sequence[tuple[int, int, int, int]] = ()) -> bytes:
    """A PDF by hand: a catalogue, one font, and lines of text and ruled lines (from and to) on each page."""
    drawn = "".join(f"{a} {b} m {c} {d} l S\n" for a, b, c, d in rules)
    bodies = [
        drawn + "".join(f"BT /F1 12 Tf {x} {y} Td ({text}) Tj ET\n" for x, y, text in page) if page else ""
        for page in pages
    ]
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for n, body in enumerate(bodies):
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * n} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>",
            f"<< /Length {len(body)} >>\nstream\n{body}\nendstream",
        ]
    objects.append(f"<< /Title ({title}) >>")
    out, offsets = "%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    return (
        f"{out}xref\n0 {size}\n0000000000 65535 f \n{table}"
        f"trailer << /Size {size} /Root 1 0 R /Info {len(objects)} 0 R >>\nstartxref\n{len(out)}\n%%EOF"
    ).encode()


def lines(*texts: str, left: float = 72, top: float = 720) -> list[Placed]:
    return [(left, top - 14 * n, text) for n, text in enumerate(texts)]


@pytest.fixture
def document(tmp_path: Path) -> Callable[..., Document]:
    def read_one(*pages: Sequence[Placed], **how: Any) -> Document:
        (tmp_path / "a.pdf").write_bytes(pdf_with(*pages, **how))
        (found,) = read(tmp_path / "a.pdf", lambda where, why: None)
        return found

    return read_one


def test_each_block_has_the_number_of_its_page(document: Callable[..., Document]) -> None:
    found = document(lines("The pier is long."), lines("The mole is short."), title="A Paper")
    assert found.title == "A Paper" and found.place == "page"
    assert [(block.text, block.line) for block in found.blocks] == [("The pier is long.", 1), ("The mole is short.", 2)]


@pytest.mark.parametrize("title", ["", "about:blank", "\\(anonymous\\)", "untitled"])
def test_a_title_that_a_program_made_up_is_none(document: Callable[..., Document], title: str) -> None:
    assert document(lines("The pier is long."), title=title).title == "a"


def test_a_word_broken_at_the_end_of_a_line_is_one(document: Callable[..., Document]) -> None:
    text = document(lines("The har-", "bourmaster of Aix-", "Sud, 1914-", "18 - a", "man")).text
    assert text.split() == "The harbourmaster of Aix-Sud, 1914- 18 - a man".split()


def test_a_sentence_over_a_page_break_has_no_running_foot_and_cites_both_pages(tmp_path: Path) -> None:
    pages = [
        [
            *lines("General rules follow.", "The key of the Sund hall must be returned to", top=100),
            (280, 30, "Page 1 of 2"),
        ],
        [*lines("Margit Foss by nine in the evening."), (280, 30, "Page 2 of 2")],
    ]
    (tmp_path / "rules.pdf").write_bytes(pdf_with(*pages))
    answer = robust_qa.ask("To whom must the key of the Sund hall be returned?", docs=tmp_path)
    assert "Margit Foss" in answer.text and "Page" not in answer.citations[0].quote
    assert answer.citations[0].place == "page 2"


def test_a_head_that_repeats_but_for_its_number_is_no_text(document: Callable[..., Document]) -> None:
    pages = [
        [(72, 760, f"Harbour rules {n}"), *lines(f"Rule {n} is about boats of kind {n}.", top=700)] for n in range(1, 5)
    ]
    assert "Harbour rules" not in document(*pages).text


LEFT = [
    "The harbour of Lomma was built in stone by",
    "the brothers Vang between 1871 and 1874 and",
    "was paid by the town.",
]
RIGHT = [
    "The harbour of Arnholm is older and smaller",
    "and was given to the fishermen by a widow in",
    "1790, who had no heirs.",
]


def test_two_columns_are_read_one_after_the_other(document: Callable[..., Document]) -> None:
    page = [placed for pair in zip(lines(*LEFT), lines(*RIGHT, left=360), strict=True) for placed in pair]
    text = " ".join(document(page).text.split())
    assert " ".join([*LEFT, *RIGHT]) == text


HEADER = ["Berth", "Owner", "Fee EUR"]


def table(*rows: Sequence[str], top: float = 700) -> list[Placed]:
    return [(72 + 150 * n, top - 20 * row + 5, cell) for row, cells in enumerate(rows) for n, cell in enumerate(cells)]


def grid(rows: int, top: int = 715) -> list[tuple[int, int, int, int]]:
    flat = [(70, top - 20 * n, 520, top - 20 * n) for n in range(rows + 1)]
    return flat + [(70 + 150 * n, top - 20 * rows, 70 + 150 * n, top) for n in range(4)]


@pytest.mark.parametrize("rules", [grid(3), ()], ids=["ruled", "not-ruled"])
def test_the_header_of_a_table_holds_on_the_next_page(rules: Any, document: Callable[..., Document]) -> None:
    first = table(HEADER, ["B1", "Tilde Vang", "100"], ["B2", "Sverre Lo", "110"])
    second = table(["B3", "Geir Lund", "120"], ["B4", "Ada Quill", "130"], ["B5", "Bo Ek", "140"])
    rows = [(block.line, block.text) for block in document(first, second, rules=rules).blocks if block.kind == "row"]
    assert rows == [
        (1, "Berth: B1; Owner: Tilde Vang; Fee EUR: 100"),
        (1, "Berth: B2; Owner: Sverre Lo; Fee EUR: 110"),
        (2, "Berth: B3; Owner: Geir Lund; Fee EUR: 120"),
        (2, "Berth: B4; Owner: Ada Quill; Fee EUR: 130"),
        (2, "Berth: B5; Owner: Bo Ek; Fee EUR: 140"),
    ]


def test_a_list_with_marks_is_no_table(document: Callable[..., Document]) -> None:
    page = [
        (72, 700, "1."),
        (110, 700, "Moor the boat."),
        (72, 686, "2."),
        (110, 686, "Pay the fee."),
        (72, 672, "3."),
        (110, 672, "Leave."),
    ]
    assert [block.text for block in document(page).blocks] == ["1. Moor the boat.", "2. Pay the fee.", "3. Leave."]


def test_pages_that_are_pictures_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")  # where tesseract is
    (tmp_path / "a.pdf").write_bytes(pdf_with(lines("The pier is long."), [(0, 0, "")], rules=[(0, 0, 9, 9)]))
    reasons: list[str] = []
    list(read(tmp_path / "a.pdf", lambda where, why: reasons.append(why)))
    assert reasons == ["1 page is a picture without text (2): install tesseract to read pictures"]


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4 nothing")
    with pytest.raises(Unreadable, match="it is damaged"):
        list(read(tmp_path / "a.pdf", lambda where, why: None))


def noted(size: int, *texts: str) -> str:
    """The operators that show texts in turns at the size of the font and as raised marks."""
    parts = (f"/F1 {5 if n % 2 else size} Tf {4 if n % 2 else 0} Ts ({text}) Tj" for n, text in enumerate(texts))
    return f") Tj {' '.join(parts)} 0 Ts /F1 12 Tf ("


def test_a_note_stands_behind_the_paragraph_with_its_mark_and_is_in_no_sentence_over_pages(
    document: Callable[..., Document],
) -> None:
    first = [
        *lines(noted(12, "The pier was built in 1871", "1", " and it is 120 m long."), "It was paid by", top=120),
        (72, 60, noted(8, "", "1", " The yearbook of 1880 says 1870.")),
    ]
    found = document(first, lines("the town and the harbour."))
    assert [(block.text.replace("\n", " "), block.line) for block in found.blocks] == [
        ("The pier was built in 1871 and it is 120 m long. It was paid by the town and the harbour.", 1),
        ("The yearbook of 1880 says 1870.", 2),
    ]


def test_a_raised_number_without_a_note_is_a_power(document: Callable[..., Document]) -> None:
    text = document(lines(noted(12, "The hall has 120 m", "2", " of floor."), "It is heated.")).text
    assert text.split() == "The hall has 120 m^2 of floor. It is heated.".split()


def test_the_number_printed_on_a_page_is_in_its_place(tmp_path: Path) -> None:
    pages = [
        [*lines(f"Chapter {name} is short.", f"The {name} keeper was {keeper}."), (300, 30, str(number))]
        for number, (name, keeper) in enumerate(
            [("first", "Ada Quill"), ("second", "Ole Birch"), ("third", "Cai Lund"), ("fourth", "Una Holt")], start=23
        )
    ]
    (tmp_path / "a.pdf").write_bytes(pdf_with(*pages))
    answer = robust_qa.ask("Who was the first keeper?", docs=str(tmp_path))
    assert answer.citations[0].place == "page 1 (printed 23)"
