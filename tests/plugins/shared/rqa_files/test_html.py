from __future__ import annotations

import pytest

from rqa_files import Excerpt, read_html

PAGE = """<!doctype html><html><head><title>Harbour</title><style>p {color: red}</style></head>
<body><nav><a href="/">Home</a></nav><h1>Harbour</h1>
<h2>Fees<a href="#fees">¶</a></h2>
<p>Boats pay by <em>length</em>:</p>
<table><tr><th>Length</th><th>Fee</th></tr><tr><td>8 m</td><td>20 &euro;</td></tr>
<tr><td>12 m<td>35 &euro;</table>
<h2>Rules</h2>
<p>Before you leave:<ol><li>Pay the fee<li>Sign the book<ul><li>with your <b>name</b></ul></ol>
<dl><dt>-n</dt><dt>--night</dt><dd>Allows leaving at night.</dd><dt>-q</dt>
<dd><p>Is quiet.</p><p>Rarely used.</p></dd></dl>
<pre>if night:
    light()</pre>
"""


def test_passages_follow_the_structure_of_a_page(passages):
    assert passages("a.html", PAGE, words=25) == [
        Excerpt("Harbour > Fees", "Boats pay by length:\nLength: 8 m; Fee: 20 €\nLength: 12 m; Fee: 35 €", 4),
        Excerpt(
            "Harbour > Rules",
            "Before you leave:\n1. Pay the fee\n2. Sign the book\n  - with your name\n\n"
            "-n, --night: Allows leaving at night.\n-q: Is quiet.\n  Rarely used.\n\n"
            "if night:\n    light()",
            8,
        ),
    ]


@pytest.mark.parametrize(
    ("page", "shown"),
    [
        ("<pre>A\n\n  B is 1\n\nC</pre>D\nE", "A\n\n  B is 1\n\nC\n\nD \nE"),
        (
            '<pre><code class="language-js mjs">import a</code><code class="language-js cjs">const a</code></pre>',
            "import a\n\nconst a",
        ),
        ("<pre>public <code>int</code><code class=mark>[]</code>\rx</pre>", "public int[]\nx"),
        (
            "Colour: <select><option>Red<option>Blue</select> <label>Si</label><button>Quit</button>",
            "Colour: Red Blue Si Quit",
        ),
        ("2<sup>32</sup>-1, 10<sup>−6</sup> m<sup>2</sup>", "2^32-1, 10^−6 m^2"),
        ("18<sup>th</sup>, H<sub>2</sub>O, <sup>14</sup>C", "18th, H2O, 14C"),
        ("In 1925.<sup>3</sup> He", "In 1925.[3] He"),
        ("In 1925<sup id=a><a href='#n'><i>[</i>note 3]</a></sup><sup><a href='#m'>4</a></sup>.", "In 1925."),
        ("In 1925<a href='a.html#n'><sup>3</sup></a><a href='#m'>, as</a>", "In 1925, as"),
        ("He made it.<b>&#x1F;</b><sup>2</sup>", "He made it.[2]"),
    ],
)
def test_text_keeps_its_lines_and_its_numbers(text, page, shown):
    assert text("a.html", page) == shown


def test_the_link_of_a_heading_to_itself_is_no_part_of_it(blocks):
    page = "<h1>C#<a href='#c'>¶</a></h1>text<h2><a href='#d'>Deep</a> <a href='/a#d'># </a></h2><a href='#'>#</a>"
    assert blocks("a.html", page) == [("heading", "C#"), ("paragraph", "text"), ("heading", "Deep"), ("paragraph", "#")]


def test_a_link_that_is_the_end_of_a_name_is_part_of_its_heading(blocks):
    assert blocks("a.html", "<h1>C<a href='langs.html#c'>#</a></h1>")[0] == ("heading", "C#")


def test_a_heading_in_a_note_is_not_one_of_the_page(blocks):
    page = "<h2>Limits</h2><div class='note'><h3>Note</h3><p>It is slow.</p></div><p>Ten.</p>"
    assert [kind for kind, _ in blocks("a.html", page)] == ["heading", "paragraph", "paragraph", "paragraph"]


@pytest.mark.parametrize(
    "page",
    [
        "<tr><th>A<th>B<tr><td>1<td>2",
        "<tr><td><strong>A</strong></td><td><b>B</b></td></tr><tr><td><b>1</b><td>2",
    ],
)
def test_a_row_has_the_names_of_its_columns(blocks, page):
    assert blocks("a.html", f"<table>{page}</table>") == [("row", "A: 1; B: 2")]


def test_a_table_that_lays_out_the_page_is_no_table(blocks):
    page = "<table><tr><td>Menu<td><h1>Harbour</h1><p>Open.<table><tr><td>8 m<td>20</table></table>"
    assert blocks("a.html", page) == [
        ("paragraph", "Menu"),
        ("heading", "Harbour"),
        ("paragraph", "Open."),
        ("row", "8 m | 20"),
    ]


ATTRIBUTES = [
    ('<img alt="Map of the pier with its crane">', "Map of the pier with its crane"),
    ('<img alt="Python logo">Text.', "Text."),
    (
        '<abbr title="Maritime and Coastguard Agency">MCA</abbr> inspects.',
        "MCA (Maritime and Coastguard Agency) inspects.",
    ),
    ('Write to <a href="mailto:ada@example.org?subject=x">Ada</a>.', "Write to Ada (ada@example.org)."),
    ('Write to <a href="mailto:ada@example.org">ada@example.org</a>.', "Write to ada@example.org."),
    ('<head><meta name="description" content="The pier is long."></head><p>Text.', "The pier is long.\n\nText."),
]


@pytest.mark.parametrize(("page", "expected"), ATTRIBUTES)
def test_attributes_that_are_read_aloud_are_text(page: str, expected: str) -> None:
    assert "\n\n".join(block.text.strip() for block in read_html(f"<html>{page}")[1]) == expected
