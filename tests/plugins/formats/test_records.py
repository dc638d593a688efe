"""Calendars, address cards, entries of BibTeX, drawers of Org and headers of mail are rows that answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest
from standins.reading import read

import robust_qa
from rqa_files import Document

CALENDAR = """BEGIN:VCALENDAR
BEGIN:VEVENT
UID:1
DTSTART;TZID=Europe/Oslo:20260411T183000
DTEND;TZID=Europe/Oslo:20260411T200000
SUMMARY:Annual meeting
LOCATION:Boat house\\, room 2
DESCRIPTION:Bring your pro
 posals.
BEGIN:VALARM
DESCRIPTION:Reminder
END:VALARM
END:VEVENT
BEGIN:VEVENT
DTSTART;VALUE=DATE:20260502
DTEND;VALUE=DATE:20260503
SUMMARY:Spring regatta
ORGANIZER;CN=Ida Moe:mailto:ida@club.example
END:VEVENT
BEGIN:VEVENT
DTSTART;VALUE=DATE:20260606
DTEND;VALUE=DATE:20260606
SUMMARY:Work day
END:VEVENT
END:VCALENDAR
"""
CARDS = """BEGIN:VCARD
VERSION:2.1
N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller;J=C3=BCrgen
FN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:J=C3=BCrgen =
M=C3=BCller
TEL;CELL:+49 30 555 0199
END:VCARD
BEGIN:VCARD
VERSION:4.0
FN:Mira Aalto
item1.TEL;VALUE=uri;TYPE=work:tel:+358-40-555-0177
ADR;TYPE=home:;;Harbour Street 4;Turku;;20100;Finland
END:VCARD
"""
ENTRIES = """@string{fp = "Fjord Press"}
@book{moe2019,
  author = {Moe, Ida and Krog, J{\\"o}rg},
  title = "{Tides} of the North",
  publisher = {Fjord Press}, year = 2019
}
@phdthesis{ek2018, author = {Bo Ek}, title = {Salt in Concrete}, school = {University of Turku}, year = {2018}}
"""
JOBS = """* Garden
** TODO Prune the trees
   DEADLINE: <2026-03-14 Sat>
   :PROPERTIES:
   :OWNER: Mette
   :END:
** DONE Repair the fence :wood:
   CLOSED: [2026-02-02 Mon]
   :PROPERTIES:
   :OWNER: Jonas
   :END:
   It has a new gate.
"""
MAIL = """From: Sven Berg <sven@loft.example>
To: Ole Krog <ole@pier.example>
Date: Tue, 10 Feb 2026 10:02:00 +0100
Subject: Price of the covers
Message-ID: <2@loft.example>

We agree on 2,150 EUR for the covers.

On Mon, 9 Feb 2026 at 09:30, Ole Krog <ole@pier.example>
wrote:
> The price of the covers is 1,900 EUR at most.
"""


@pytest.mark.parametrize(
    "name, content, rows",
    [
        (
            "club.ics",
            CALENDAR,
            [
                "Summary: Annual meeting; Start: 2026-04-11 18:30 (Europe/Oslo); End: 2026-04-11 20:00 (Europe/Oslo); "
                "Location: Boat house, room 2; Description: Bring your proposals.",
                "Summary: Spring regatta; Start: 2026-05-02; End: 2026-05-02; Organizer: Ida Moe <ida@club.example>",
                "Summary: Work day; Start: 2026-06-06; End: 2026-06-06",
            ],
        ),
        (
            "people.vcf",
            CARDS,
            [
                "Name: Jürgen Müller; Phone: +49 30 555 0199 (cell)",
                "Name: Mira Aalto; Phone: +358-40-555-0177 (work); "
                "Address: Harbour Street 4, Turku, 20100, Finland (home)",
            ],
        ),
        (
            "refs.bib",
            ENTRIES,
            [
                "Type: book; Key: moe2019; Author: Ida Moe, Jörg Krog; Title: Tides of the North; "
                "Publisher: Fjord Press; Year: 2019",
                "Type: phdthesis; Key: ek2018; Author: Bo Ek; Title: Salt in Concrete; School: University of Turku; "
                "Year: 2018",
            ],
        ),
        (
            "jobs.org",
            JOBS,
            [
                "Entry: Prune the trees; Deadline: 2026-03-14 Sat; Owner: Mette",
                "Entry: Repair the fence; Closed: 2026-02-02 Mon; Owner: Jonas",
            ],
        ),
    ],
)
def test_an_entry_is_a_row(tmp_path: Path, name: str, content: str, rows: list[str]) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    (document,) = read(tmp_path / name, print)
    assert [block.text for block in document.blocks if "; " in block.text] == rows


@pytest.mark.parametrize(
    "name, content, question, answer, where",
    [
        ("club.ics", CALENDAR, "When is the annual meeting?", "2026-04-11 18:30", ":2"),
        ("people.vcf", CARDS, "What is the phone number of Jürgen Müller?", "+49 30 555 0199", ":1"),
        ("refs.bib", ENTRIES, "Who published Tides of the North?", "Fjord Press", ":2"),
        ("jobs.org", JOBS, "Who is the owner of repair the fence?", "Jonas", ""),
        ("price.eml", MAIL, "Who sent the mail about the price of the covers?", "Sven Berg", ":1"),
        ("price.eml", MAIL, "What is the price of the covers?", "2,150 EUR", ":7"),
    ],
)
def test_a_row_answers(tmp_path: Path, name: str, content: str, question: str, answer: str, where: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    found = robust_qa.ask(question, docs=tmp_path / name)
    first = [*found.citations, *found.closest][0]
    assert answer in first.quote
    assert found.text is None or answer in found.text
    assert first.where == f"{tmp_path / name}{where}"


DUMP = """CREATE TABLE `berths` (
  `id` int NOT NULL,
  `owner` varchar(40) DEFAULT NULL,
  PRIMARY KEY (`id`)
);
INSERT INTO `berths` VALUES (1,'Tilde Vang'),(2,'O\\'Brien; the elder, (sailor)'),
(3,NULL);

CREATE VIEW all_berths AS SELECT * FROM berths;
COPY public.harbours (id, name) FROM stdin;
1\tLomma
2\t\\N
\\.
"""


def test_a_dump_has_the_rows_of_its_tables(tmp_path: Path) -> None:
    (tmp_path / "dump.sql").write_text(DUMP)
    found = list(read(tmp_path / "dump.sql", lambda where, why: None))
    assert [(each.title, [(block.line, block.text) for block in each.blocks]) for each in found[:2]] == [
        (
            "dump > berths",
            [
                (6, "id: 1; owner: Tilde Vang"),
                (6, "id: 2; owner: O'Brien; the elder, (sailor)"),
                (7, "id: 3"),
            ],
        ),
        ("dump > public.harbours", [(11, "id: 1; name: Lomma"), (12, "id: 2")]),
    ]
    assert "INSERT" not in found[2].text and "CREATE VIEW" in found[2].text
    assert next(block.line for block in found[2].blocks if "VIEW" in block.text) == 9


def test_captions_that_roll_up_are_read_once_and_without_stamps(
    blocks: Callable[[str, str], list[tuple[str, str]]],
) -> None:
    captions = """WEBVTT

00:00:00.000 --> 00:00:02.000 align:start position:0%
\x20
the<00:00:00.280><c> lighthouse</c><00:00:00.480><c> of</c>

00:00:02.000 --> 00:00:02.010 align:start position:0%
the lighthouse of
\x20

00:00:02.010 --> 00:00:04.000 align:start position:0%
the lighthouse of
Arnholm<00:00:02.280><c> was</c><00:00:02.480><c> built</c>

00:00:04.010 --> 00:00:06.000 align:start position:0%
Arnholm was built
in<00:00:05.280><c> 1871.</c>
"""
    assert blocks("talk.vtt", captions) == [("paragraph", "the lighthouse of Arnholm was built in 1871.")]


def test_a_link_of_org_is_its_text(text: Callable[[str, str], str]) -> None:
    source = "The fees: [[https://example.org/f][the page]], [[mailto:ada@example.org][Ada Quill]].\n"
    assert text("a.org", source) == "The fees: the page, Ada Quill (ada@example.org)."


def test_cells_merged_downwards_are_in_each_row_and_hidden_rows_are_said(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["", "Fee [EUR]", None], ["Berth", "2024", "2025"], ["North", 20, 22], [None, 30, 33], ["South", 1, 2]):
        book.active.append(row)
    book.active.merge_cells("B1:C1")
    book.active.merge_cells("A3:A4")
    book.active.row_dimensions[5].hidden = True
    book.save(tmp_path / "fees.xlsx")
    reasons: list[str] = []
    (found,) = read(tmp_path / "fees.xlsx", lambda where, why: reasons.append(why))
    assert [block.text for block in found.blocks] == [
        "Berth: North; Fee [EUR] 2024: 20; Fee [EUR] 2025: 22",
        "Berth: North; Fee [EUR] 2024: 30; Fee [EUR] 2025: 33",
        "Berth: South; Fee [EUR] 2024: 1; Fee [EUR] 2025: 2",
    ]
    assert reasons == ["read with 1 hidden row of the sheet Sheet, such as row 5"]


def test_data_without_spaces_is_no_text(text: Callable[[str, str], str]) -> None:
    assert text("a.txt", f"The keeper was Ada. {'QUFB' * 1000} The end.") == "The keeper was Ada. … The end."


def test_values_of_json_stand_at_their_lines(document: Callable[[str, str], Document]) -> None:
    source = """{
  "fees": [
    {"berth": "North: \\"a\\"", "fee": 20},
    {
      "berth": "South", "fee": 30
    }
  ],
  "keepers":
    ["Ada", "Ole"],
  "office": {"days": 5}
}"""
    assert [(block.line, block.text) for block in document("a.json", source).blocks] == [
        (9, "keepers: Ada, Ole"),
        (2, "fees"),
        (3, 'berth: North: "a"; fee: 20'),
        (4, "berth: South; fee: 30"),
        (10, "office"),
        (10, "days: 5"),
    ]
