from __future__ import annotations

import csv
import io
import json
import re
import sys
import time
from pathlib import Path

import pytest

from robust_qa.documents.formats import Document, Unreadable, read
from robust_qa.documents.headings import sections
from robust_qa.kit import install_hint

Skipped = list[tuple[str, str]]


def documents(path: Path, content: bytes | str) -> tuple[list[Document], Skipped]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    skipped: Skipped = []
    return list(read(path, lambda where, why: skipped.append((where, why)))), skipped


def only(path: Path, content: bytes | str) -> Document:
    (document,), _ = documents(path, content)
    return document


# -- text


def test_plain_text_is_titled_by_its_file_name(tmp_path):
    assert only(tmp_path / "Giant Panda.txt", "It eats bamboo.") == Document(
        "It eats bamboo.",
        "Giant Panda",
        str(tmp_path / "Giant Panda.txt"),
        str(tmp_path / "Giant Panda.txt"),
    )


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.md", "intro\n\n##  The Title ##\n\n# Another\n"),
        ("a.markdown", "The Title\n=========\n\ntext"),
        ("a.MD", "# The   Title\ntext"),
        ("a.md", "```sh\n# a comment\n```\n\n# The Title"),
        ("a.md", "```pip install it``` does.\n\n# The Title\n\n```\n# Another\n```"),
        ("a.md", "~~~~\n# a comment\n~~~\n# another\n~~~~\nThe Title\n---------\n"),
        ("a.md", "---\nlang: en\ntitle: The Title  # a comment\n---\n\n# Another\n"),
        ("a.md", "---\ntags:\n- a\n\n'title': 'The Title'\n...\n"),
        ("a.md", "---\ntitle: >\n  The\n  Title\n---\n"),
        ("a.rst", "=========\nThe Title\n=========\n\ntext"),
        ("a.rst", "The Title\n---------\n\nAnother\n======="),
        ("a.html", "<title>The\n Title</title><h1>Another</h1>"),
        ("a.htm", "<h1>The <b>Title</b></h1><h1>Another</h1>"),
        ("a.htm", "<h2>Another</h2><h1> </h1><h1>The Title<a href='#t'>¶</a></h1>"),
    ],
)
def test_the_title_is_the_first_heading(tmp_path, name, content):
    assert only(tmp_path / name, content).title == "The Title"


def test_front_matter_is_no_part_of_the_text(tmp_path):
    assert only(tmp_path / "a.md", "---\ntitle: T\ntags: [x]\n---\nIt eats bamboo.").text == "It eats bamboo."


@pytest.mark.parametrize(
    "content", ["---\n\nnote: this\n\n---\n\nthat", "---\nSome text.\n---\n", "---\n", "---\na: b\n"]
)
def test_a_rule_is_no_front_matter(tmp_path, content):
    document = only(tmp_path / "a.md", content)
    assert (document.title, document.text) == ("a", content)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.md", "Top\n===\n\n## One ##\ntext\n\n```\n## code\n```\n\n### Deep\n## C#\n| a |\n| --- |\n- b\n---\n"),
        ("a.rst", "===\nTop\n===\n\nOne\n---\ntext\n\n::\n\n    Code\n    ====\n\nDeep\n~~~~\n\nC#\n---\n"),
        ("a.html", "<h1>Top</h1><h2>One</h2>text<h3>Deep</h3><h2></h2><h2><b>C#</b><p>text</p>"),
    ],
)
def test_headings_are_known_with_their_levels(tmp_path, name, content):
    document = only(tmp_path / name, content)
    found = list(sections(document.text, document.headings))
    assert [section.path for section in found] == [("Top",), ("Top", "One"), ("Top", "One", "Deep"), ("Top", "C#")]
    assert all(section.path[-1] in section.head for section in found)
    assert "".join(section.head + section.body for section in found) == document.text


def test_a_link_that_is_the_end_of_a_name_is_part_of_its_heading(tmp_path):
    document = only(tmp_path / "a.html", "<h1>C<a href='langs.html#c'>#</a></h1><p>text</p>")
    assert [heading.title for heading in document.headings] == ["C#"]


def test_the_link_of_a_heading_to_itself_is_no_part_of_it(tmp_path):
    page = "<h1>C#<a href='#c'>¶</a></h1>text<h2><a href='#d'>Deep</a> <a href='/a#d'># </a></h2><a href='#'>#</a>"
    document = only(tmp_path / "a.html", page)
    assert [heading.title for heading in document.headings] == ["C#", "Deep"]
    assert document.text == "C#\n\ntext\n\nDeep\n\n#"


def test_a_comment_in_markdown_is_neither_text_nor_heading(tmp_path):
    shown = "# Limits\n``<!-- `a` -->`` and `<!--` appear.\n```\n<!-- and this -->\n```\nEach key has limits. <!-- No"
    comments = "<!-- Ten. --><!--\n## Old limits\n```\n5 requests.\n--><!-->"
    document = only(tmp_path / "a.md", shown.replace("Each", f"{comments}Each"))
    assert document.text == shown
    assert [heading.title for heading in document.headings] == ["Limits"]


@pytest.mark.parametrize(
    "shown",
    [
        "To stop it, write `<!-- off -->` before it.",
        "1. Add the tag:\n\n    ```\n    <!-- its id is K-7741 -->\n    ```",
        "> ```\n> <!-- the word is xyzzy -->\n> ```",
        "So:\n\n    <!-- indented -->",
    ],
)
def test_a_comment_in_code_of_markdown_is_shown(tmp_path, shown):
    assert only(tmp_path / "a.md", shown).text == shown


def test_more_than_a_word_behind_a_fence_of_markdown_is_text(tmp_path):
    kept = "```{warning} Never do this\n```\n~~~ js title=a.js\n1\n~~~\n```{note}\n3\n```\n"
    assert only(tmp_path / "a.md", f"{kept}~~~c++ \n2\n~~~").text == f"{kept}~~~\n2\n~~~"


def test_the_word_behind_a_fence_of_markdown_is_not_text(tmp_path):
    text = "Run:\n\n```bash\nnpm ls\n```\n1. So\n   ~~~ sh\n   ls\n   ~~~\n````md\n```js\n1\n```\n````\n``` `\n```c"
    assert only(tmp_path / "a.md", text).text == (
        "Run:\n\n```\nnpm ls\n```\n1. So\n   ~~~\n   ls\n   ~~~\n````\n```js\n1\n```\n````\n``` `\n```"
    )


def test_a_title_of_any_length_is_clipped(tmp_path):
    assert len(only(tmp_path / "a.md", "# " + "x" * 10_000).title) == 300


@pytest.mark.parametrize(
    "content",
    ["Café".encode(), b"\xef\xbb\xbfCaf\xc3\xa9", b"Caf\xe9", "Café".encode("utf-16"), "Café".encode("utf-32")],
    ids=["utf-8", "utf-8 with a mark", "latin-1", "utf-16", "utf-32"],
)
def test_usual_encodings_are_read(tmp_path, content):
    assert only(tmp_path / "a.txt", content).text == "Café"


def test_one_bad_byte_does_not_spoil_the_rest(tmp_path):
    assert only(tmp_path / "a.txt", "Müller, ".encode() + b"na\xefve \x81").text == "Müller, naïve \ufffd"


def test_a_binary_file_is_refused(tmp_path):
    with pytest.raises(Unreadable, match="binary"):
        documents(tmp_path / "a.txt", b"\x7fELF\0\0\0")


def test_a_very_long_text_comes_in_parts_that_lose_nothing(tmp_path):
    text = "A paragraph of some words.\n\n" * 100_000
    parts, _ = documents(tmp_path / "a.txt", text)
    assert "".join(part.text for part in parts) == text
    assert max(len(part.text) for part in parts) <= 2 << 20
    assert len({part.id for part in parts}) == len(parts) > 1


@pytest.mark.parametrize("space", ["\n", " ", "\t"])
def test_a_long_list_is_not_cut_within_a_word(tmp_path, space):
    names = [f"name{n}" for n in range(300_000)]
    parts, _ = documents(tmp_path / "a.txt", "Names:\n\n" + space.join(names))
    assert len(parts) > 1
    assert [name for part in parts for name in part.text.split()] == ["Names:", *names]


# -- html


def test_html_gives_what_its_reader_sees(tmp_path):
    page = """<!doctype html><html><head><title>T</title><style>p {color: red}</style></head>
    <body><script>if (a < b) alert("no")</script><p>One &amp;
    two.</p><ul><li>three<li>four</ul><table><tr><td>Born</td><td>1950</td></tr></table><template>no</template>"""
    assert only(tmp_path / "a.html", page).text == "One & two.\n\nthree\n\nfour\n\nBorn 1950"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<pre>A\n\n  B is 1\n\nC</pre>D\nE", "A\n\nB is 1\n\nC\n\nD E"),
        ("<pre>A\r\n\r\nB <b>is\n1</b></pre>", "A\n\nB is\n1"),
        (
            '<pre><code class="language-js mjs">import a</code><code class="language-js cjs">const a</code></pre>',
            "import a\n\nconst a",
        ),
        ("<pre><code class='sourceCode sh'>a</code><code class=lang-sh>b</code></pre>", "a\n\nb"),
        ("<pre>public <code>int</code><code class=mark>[]</code>\rx</pre>", "public int[]\nx"),
        ("<pre><code>a</code>, <code>b</code></pre><p><code>c</code><code>d</code>", "a, b\n\ncd"),
    ],
)
def test_preformatted_text_keeps_its_lines(tmp_path, page, text):
    assert only(tmp_path / "a.html", page).text == text


def test_what_stands_in_controls_of_a_form_stays_apart(tmp_path):
    page = "Colour: <select><option>Red<option>Blue</select> <label>Si</label><button>Set</button><button>Quit</button>"
    assert only(tmp_path / "a.html", page).text == "Colour: Red Blue Si Set Quit"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("2<sup>32</sup>-1, 10<sup>−6</sup> m<sup>2</sup>", "2^32-1, 10^−6 m^2"),
        ("10<sup>10<sup>100</sup></sup>", "10^10^100"),
        ("18<sup>th</sup>, H<sub>2</sub>O, <sup>14</sup>C", "18th, H2O, 14C"),
        ("In 1925.<sup>3</sup> He", "In 1925.[3] He"),
        ("In <a href='#y'>some 10<sup>6</sup> years</a>", "In some 10^6 years"),
        ("In 1925<sup id=a><a href='#n'><i>[</i>note 3]</a></sup><sup><a href='#m'>4</a></sup>.", "In 1925."),
        ("In 1925<a href='a.html#n'><sup>3</sup></a><a href='#m'>, as</a>", "In 1925, as"),
        ("In 1925<sup>3 and <a href='#n'>more</a></sup>", "In 1925^3 and more"),
        ("He made it.<b>&#x1F;</b><sup>2</sup>", "He made it.[2]"),
        ("The sum (<sup>14</sup>C)", "The sum (14C)"),
    ],
)
def test_what_html_raises_is_of_no_number_before_it(tmp_path, page, text):
    assert only(tmp_path / "a.html", f"<p>{page}").text == text


@pytest.mark.parametrize(
    ("said", "encoding"),
    [
        ("<meta charset=koi8-r>", "koi8-r"),
        ('<?xml version="1.0" encoding="windows-1251"?>', "cp1251"),
        ('<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=ISO-8859-5">', "iso8859-5"),
        ("<meta charset=koi8-r>", "utf-8"),  # it was saved in another than it says
        ("<meta charset=utf-16>", "utf-8"),
        ("<meta charset=koi8-r>", "utf-16"),
        ("<meta charset=no-such>", "utf-8"),
        ("", "utf-8"),
    ],
)
def test_html_is_read_in_the_charset_that_it_says(tmp_path, said, encoding):
    assert only(tmp_path / "a.html", f"{said}<p>Смотритель маяка".encode(encoding)).text == "Смотритель маяка"


@pytest.mark.parametrize(("text", "encoding"), [("灯台守", "shift_jis"), ("燈塔", "iso-2022-jp"), ("“Café”", "cp1252")])
def test_charsets_of_other_scripts_are_read(tmp_path, text, encoding):
    page = f"<meta charset={encoding.replace('cp1252', 'iso-8859-1')}><p>{text}".encode(encoding)
    assert only(tmp_path / "a.html", page).text == text


def test_a_text_that_only_speaks_of_a_charset_is_none_of_it(tmp_path):
    assert only(tmp_path / "a.txt", "<meta charset=koi8-r> Café".encode()).text == "<meta charset=koi8-r> Café"


@pytest.mark.parametrize("page", ["<![foo[ x", "<p>a<![if x]>b", "</p></x>a", "<a <b <c", "<" * 1000, "&#xffffffff;"])
def test_malformed_html_is_read_as_far_as_it_goes(tmp_path, page):
    assert only(tmp_path / "a.html", f"<p>It eats bamboo.{page}").text.startswith("It eats bamboo.")


@pytest.mark.parametrize("part", ["<!--", "<a ", "<![CDATA[", "</", "<div>", "<a b='"])
def test_html_of_a_hundred_thousand_open_ends_is_read_in_seconds(tmp_path, part):
    began = time.perf_counter()
    documents(tmp_path / "a.html", part * 100_000)
    assert time.perf_counter() - began < 5


LONG = "<h1>" + "x" * 301 + "</h1>"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.html", "<h1>" + "<p>" * 70_000),
        ("a.html", "<![if " * 100_000),
        ("a.html", LONG * 2_000),
        ("a.md", "# a" + " " * 100_000 + "b"),
        ("a.md", "---\na: b\n" + " " * 100_000),
        ("a.md", "-->" + "<!--" * 100_000),
        ("a.md", " ".join("`" * n for n in range(1_000)) + "-->"),
        ("a.md", "`" * 100_000 + " `\n" + "```a\n~~~b\n" * 30_000),
    ],
    ids=["empty heading", "open sections", "long headings", "a heading", "front matter", "comments", "code", "fences"],
)
def test_what_repeats_in_markup_is_gone_over_once(tmp_path, name, content):
    began = time.process_time()
    documents(tmp_path / name, content)
    assert time.process_time() - began < 5


# -- rows


def test_jsonl_rows_are_documents(tmp_path):
    rows = '{"id": 7, "title": "T", "text": "one", "url": "https://a.b/"}\n\n{"text": "two"}\n'
    found, skipped = documents(tmp_path / "a.jsonl", rows)
    path = str(tmp_path / "a.jsonl")
    assert found == [Document("one", "T", "7", "https://a.b/"), Document("two", "", f"{path}:3", path)]
    assert skipped == []


@pytest.mark.parametrize(
    "row", ['{"_id": "d1", "text": "x", "title": "T"}', '{"docid": "d1", "contents": "x", "title": "T"}']
)
def test_rows_of_the_usual_collections_are_known(tmp_path, row):
    assert only(tmp_path / "a.jsonl", row) == Document("x", "T", "d1", str(tmp_path / "a.jsonl"))


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("not json", "it is not JSON"),
        ('{"text": "torn', "it is not JSON"),
        ("[1]", "it is not a JSON object"),
        ("{}", "it has no text"),
        ('{"text": " "}', "it has no text"),
        ('{"text": ["a"]}', "its text is not a string"),
        ('{"text": "a", "title": {}}', "its title is not a string"),
        ("[" * 100_000, "it is not JSON"),
        ('{"text": ' + "1" * 5000 + "}", ""),
    ],
)
def test_a_bad_row_is_reported_with_its_line_and_the_rest_is_read(tmp_path, row, why):
    found, [(where, reason)] = documents(tmp_path / "a.jsonl", f'{{"text": "a"}}\n{row}\n{{"text": "b"}}\n')
    assert [document.text for document in found] == ["a", "b"]
    assert where == f"{tmp_path / 'a.jsonl'}:2"
    assert reason.startswith(why)


def test_the_layout_of_dprs_wikipedia_dump_is_read(tmp_path):
    content = 'id\ttext\ttitle\n1\t"Aaron is ""a prophet"", he said."\tAaron\n2\tNext\tB\n'
    found, _ = documents(tmp_path / "psgs.tsv", content)
    path = str(tmp_path / "psgs.tsv")
    assert found == [
        Document('Aaron is "a prophet", he said.', "Aaron", "1", path),
        Document("Next", "B", "2", path),
    ]


def test_columns_go_by_their_names_in_any_order(tmp_path):
    assert only(tmp_path / "a.csv", "URL,ignored,Title,TEXT\nhttp://u/,x,t,body\n") == Document(
        "body", "t", f"{tmp_path / 'a.csv'}:2", "http://u/"
    )


def test_a_row_cannot_pass_for_another_file(tmp_path):
    row = json.dumps({"text": "one", "source": str(tmp_path / "handbook.txt")})
    assert only(tmp_path / "a.jsonl", row).source == f"{tmp_path / 'a.jsonl'}: {tmp_path / 'handbook.txt'}"


def test_a_row_with_too_few_columns_is_reported(tmp_path):
    found, skipped = documents(tmp_path / "a.csv", "id,text\n1\n2,two\n")
    assert [document.text for document in found] == ["two"]
    assert skipped == [(f"{tmp_path / 'a.csv'}:2", "it has 1 columns, but the first line has 2")]


def test_a_table_without_a_text_column_is_refused(tmp_path):
    with pytest.raises(Unreadable, match="no column `text`"):
        documents(tmp_path / "a.csv", "1,2\n3,4\n")


def test_an_article_longer_than_the_csv_modules_own_limit_is_read(tmp_path):
    stream = io.StringIO()
    csv.writer(stream).writerows([["text"], ["word " * 100_000]])
    assert len(only(tmp_path / "a.csv", stream.getvalue()).text) == 500_000


@pytest.mark.parametrize("columns", ["text", "id\ttext"])
def test_half_of_a_quoted_cell_of_a_tsv_is_not_taken_for_the_whole(tmp_path, columns):
    first = "1\t" * columns.count("\t")
    content = f'{columns}\n{first}"Moles eat worms.\nOwls hunt at night."\n{first}Foxes sleep.\n'
    found, skipped = documents(tmp_path / "a.tsv", content)
    assert "Moles eat worms." not in " ".join(one.text for one in found)
    assert found[-1].text == "Foxes sleep."
    assert "continues on the next line" in skipped[0][1]


def test_a_quote_in_a_tsv_is_text_unless_it_is_around_the_cell(tmp_path):
    rows = [
        '"Heroes" is a song.\tA',
        '"Heroes, unclosed\tB',
        '"Said ""yes""."\tC',
        'of 5"\tD',
        '"a\ttab"\tE',
        'x\t"F',
        "y\tG",
    ]
    found, skipped = documents(tmp_path / "a.tsv", "text\ttitle\n" + "".join(f"{row}\r\n" for row in rows))
    texts = ['"Heroes" is a song.', '"Heroes, unclosed', 'Said "yes".', 'of 5"', "a\ttab", "x", "y"]
    titles = [*"ABCDE", '"F', "G"]
    assert [(document.text, document.title) for document in found] == list(zip(texts, titles, strict=True))
    assert skipped == []


@pytest.mark.parametrize("last", ["41,no quote\n", '41,a "word" of it\n'])
def test_a_quote_in_a_csv_that_is_not_closed_is_reported_with_the_lines_that_it_swallowed(tmp_path, last):
    rows = ["1,one\n", '2,"Heroes\n', *(f"{n},row\n" for n in range(3, 41)), last]
    found, [(where, why)] = documents(tmp_path / "a.csv", "id,text\n" + "".join(rows))
    assert [document.text for document in found] == ["one"]
    assert (where, why.partition(":")[0]) == (
        f"{tmp_path / 'a.csv'}:3-42",
        "a quote in its first line is not closed correctly",
    )


def test_a_quote_within_a_line_of_a_csv_loses_nothing(tmp_path):
    found, skipped = documents(tmp_path / "a.csv", 'text,title\n"Heroes" is a song.,A\nof 5",B\n"two\nlines",C\n')
    assert [document.text for document in found] == ["Heroes is a song.", 'of 5"', "two\nlines"]
    assert skipped == []


# -- pdf


def pdf_with(*pages: str, title: str = "") -> bytes:
    """A PDF by hand: a catalogue, one font, a line of text a page."""
    bodies = [f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET" for text in pages]
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


def test_each_page_of_a_pdf_is_a_document(tmp_path):
    pytest.importorskip("pypdf")
    found, _ = documents(tmp_path / "a.pdf", pdf_with("First page.", "Second page.", title="A Paper"))
    assert [(page.text, page.title) for page in found] == [("First page.", "A Paper"), ("Second page.", "A Paper")]
    assert found[1].source == f"{tmp_path / 'a.pdf'}#page=2"


def test_a_pdf_without_a_title_is_titled_by_its_file_name(tmp_path):
    pytest.importorskip("pypdf")
    assert only(tmp_path / "Report.pdf", pdf_with("Text.")).title == "Report"


def test_a_word_broken_at_the_end_of_a_line_of_a_pdf_is_one(tmp_path):
    pytest.importorskip("pypdf")
    lines = ["The har-", "bourmaster of Aix-", "Sud, 1914-", "18 - a", "man"]
    page = ") Tj 0 -14 Td (".join(lines)
    (found,), _ = documents(tmp_path / "a.pdf", pdf_with(page))
    assert found.text.splitlines() == ["The harbourmaster of Aix-", "Sud, 1914-", "18 - a", "man"]


def test_a_damaged_pdf_is_refused(tmp_path):
    pytest.importorskip("pypdf")
    with pytest.raises(Unreadable, match="pypdf cannot read it"):
        documents(tmp_path / "a.pdf", b"%PDF-1.4 nothing")


def test_a_pdf_without_pypdf_is_refused_with_the_command_that_installs_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(Unreadable, match=re.escape(install_hint("pdf"))):
        documents(tmp_path / "a.pdf", pdf_with("Text."))
