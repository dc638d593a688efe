from __future__ import annotations

import pytest
from standins.reading import read

import robust_qa
from rqa_files import Excerpt

CONSTITUTION = """\
              Constitution of the Harbour (v1.9)

   Ratified in 1884.

1. Bodies

   Each decision is made by one of the following:
    1. The keepers, by way of an
       election;
    2. The master.

  1.1. Rules

   * A keeper may leave.

     It takes a day.
   * A master
     may not.

       toll --all

2. Fees
"""


def test_passages_follow_the_structure_of_a_text(passages):
    title = "Constitution of the Harbour (v1.9)"
    assert passages("a.txt", CONSTITUTION + "\n   A fee is due.\n", words=16) == [
        Excerpt(
            f"{title}",
            "Ratified in 1884.\n\n1. Bodies\n\nEach decision is made by one of the following:\n"
            "1. The keepers, by way of an \nelection;\n2. The master.",
            3,
        ),
        Excerpt(
            f"{title} > 1. Bodies > 1.1. Rules",
            "* A keeper may leave.\n  It takes a day.\n* A master \nmay not.\n  toll --all",
            14,
        ),
        Excerpt(f"{title} > 2. Fees", "A fee is due.", 24),
    ]


@pytest.mark.parametrize(
    ("plain", "kinds"),
    [
        ("Coast\n=====\nText follows.\n\nSouth\n-----\nMore.", "heading paragraph heading paragraph"),
        ("Notes\n\nFees\n\nA fee is due.", "heading heading paragraph"),
        ("The lamp is\n\nlit at dusk.", "paragraph paragraph"),
        ("From: Ada\nDate: Monday\n\nHello.", "paragraph paragraph"),
        ("It needs:\n- a lamp\n- oil\n\nThat is all.", "paragraph item item paragraph"),
        ("Steps:\n\n1. Pay\n\n2. Leave", "paragraph item item"),
        ("It is 5\n- or 6 - metres.", "paragraph item"),
        ("Run it.\n\n    toll --all\n\nDone.", "paragraph code paragraph"),
        ("Text.\n\n____________\n\nMore.", "paragraph paragraph"),
    ],
)
def test_lines_are_recognised_by_their_form(blocks, plain, kinds):
    assert [kind for kind, _ in blocks("a.txt", plain)] == kinds.split()


def test_a_paragraph_with_an_indented_first_line_is_no_part_of_the_list_before_it(document):
    plain = "  Two steps:\n(1) pay, and\n(2) leave\nat once.\n\n  Boats are\nmoored."
    assert [block.above for block in document("a.txt", plain).blocks] == [(), ("Two steps:",), ("Two steps:",), ()]


def test_numbers_of_headings_are_their_levels(document):
    content = "Title\n\nChapter 1. Begin\n\n1.1. Purpose\n\nText.\n\nRationale\n\nText.\n\n2. End\n\nText."
    headings = [block for block in document("a.txt", content).blocks if block.kind == "heading"]
    assert [(heading.level, heading.text) for heading in headings] == [
        (1, "Title"),
        (2, "Chapter 1. Begin"),
        (3, "1.1. Purpose"),
        (4, "Rationale"),
        (2, "2. End"),
    ]


CODE = """import toll


class Harbour:
    def open(self):
        '''Open it.'''

        return toll.pay()


def close():
    pass
"""


def test_source_code_is_cut_between_its_definitions(passages):
    first, second, third = CODE.strip().split("\n\n\n")
    (whole,) = passages("a.py", CODE)
    assert whole == Excerpt("a.py", CODE.strip().replace("\n\n\n", "\n\n"), 1)
    parts = passages("a.py", CODE, words=4)
    assert [part.text for part in parts] == [first, second, third]


@pytest.mark.parametrize("name", ["run.sh", "configure"])
def test_configuration_and_scripts_are_code(blocks, name):
    content = "#!/bin/sh\n# Heading\n\n- no item\n"
    assert {kind for kind, _ in blocks(name, content)} == {"code"}


def test_words_that_are_broken_at_line_ends_are_whole_and_lines_stay_exact(tmp_path):
    (tmp_path / "scan.txt").write_text(
        "The well is known to all. The har-\nbour mas-\nter of the well-\nknown town of Baden-\nBaden is\nIda Moe.\n"
    )
    (document,) = read(tmp_path / "scan.txt", print)
    assert document.text.split() == (
        "The well is known to all. The harbour master of the well-known town of Baden-Baden is Ida Moe.".split()
    )
    answer = robust_qa.ask("Who is the harbour master?", docs=tmp_path)
    assert "The harbour master" in answer.citations[0].quote
    assert (answer.text, answer.citations[0].place) == ("Ida Moe", "line 6")
