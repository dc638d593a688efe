from __future__ import annotations

import pytest

from rqa_files import Excerpt

HANDBOOK = """---
title: Handbook
---

Welcome to the **handbook** of [the harbour](https://harbour.example).

## Contracts

### Who signs

Customer contracts go through these steps:

1.  Reviewer: *Legal*
2.  Signer: Financial Controller
    - if it is above 10,000: the `CEO`

Changes need written approval.

### Limits

| Kind     | Limit  | Note |
| -------- | ------ | ---- |
| Customer | 10,000 |      |
| Vendor   | 5,000  | a \\| b |
"""


def test_passages_follow_the_structure_of_a_handbook(passages):
    assert passages("a.md", HANDBOOK, words=20) == [
        Excerpt("Handbook", "Welcome to the handbook of the harbour.", 5),
        Excerpt(
            "Handbook > Contracts > Who signs",
            "Customer contracts go through these steps:\n"
            "1. Reviewer: Legal\n"
            "2. Signer: Financial Controller\n"
            "  - if it is above 10,000: the CEO\n\n"
            "Changes need written approval.",
            11,
        ),
        Excerpt(
            "Handbook > Contracts > Limits",
            "Kind: Customer; Limit: 10,000\nKind: Vendor; Limit: 5,000; Note: a | b",
            23,
        ),
    ]


def test_a_continued_list_repeats_its_introduction(passages):
    points = "".join(f"- Point {n} is about one of the seven seas.\n" for n in range(6))
    found = passages("a.md", f"# Seas\n\nThe points of the meeting:\n\n{points}", words=30)
    assert [passage.text.splitlines()[:2] for passage in found] == [
        ["The points of the meeting:", "- Point 0 is about one of the seven seas."],
        ["The points of the meeting:", "- Point 3 is about one of the seven seas."],
    ]
    assert {passage.title for passage in found} == {"Seas"}


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("*a* **b** ~~c~~ <del>c</del>`d*` \\* &amp; <b>e</b>", "a b  d* * & e"),
        ("[a](b 'c'), ![d](e), <https://f.example>, [g][h]\n\n[h]: i", "a, d, https://f.example, g"),
        ("one\ntwo  \nthree<br>four", "one \ntwo\nthree\nfour"),
        ("a<!-- hidden -->b\n\n<!--\n## Hidden\n-->", "ab"),
        ("`<!-- shown -->`", "<!-- shown -->"),
        ("```sh\n# no heading\n  ls\n```", "# no heading\n  ls"),
        ("[[Ferry]] %%ask Bo%% leaves ==at 9== ^a1", "Ferry  leaves at 9"),
        ("- Run:\n\n  ```\n  ls\n  ```", "- Run:\n  ls"),
        ("---\n\nnote: this\n\n---\n\nthat", "note: this\n\nthat"),
        ("---\ntitle: T\ntags: [x, y]\nlayout: page\n---\nIt eats.", "tags: x, y\n\nIt eats."),
        ('---\ntags: ["x", "y z"]\n---\nIt eats.', "tags: x, y z\n\nIt eats."),
    ],
)
def test_markup_is_not_shown(text, markdown, shown):
    assert text("a.md", markdown) == shown


@pytest.mark.parametrize(
    ("content", "levels"),
    [
        (
            "Top\n===\n\n## One ##\ntext\n\n```\n## code\n```\n\n### Deep\n## C#\n",
            [(1, "Top"), (2, "One"), (3, "Deep"), (2, "C#")],
        ),
        ("~~~~\n# a comment\n~~~\n# another\n~~~~\nThe Title\n---------\n", [(2, "The Title")]),
    ],
)
def test_headings_have_levels(document, content, levels):
    headings = [block for block in document("a.md", content).blocks if block.kind == "heading"]
    assert [(heading.level, heading.text) for heading in headings] == levels
