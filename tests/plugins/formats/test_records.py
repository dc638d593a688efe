"""Calendars, address cards, entries of BibTeX, drawers of Org and headers of mail are rows that answer."""

from __future__ import annotations

from pathlib import Path

import pytest

import robust_qa
from robust_qa.documents import read

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
