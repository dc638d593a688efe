from __future__ import annotations

import gzip
import json
import time
from pathlib import Path

import pytest
from standins.reading import read

from rqa_files import Block, Document, Unreadable

Skipped = list[tuple[str, str]]


def documents(path: Path, content: bytes | str) -> tuple[list[Document], Skipped]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    skipped: Skipped = []
    return list(read(path, lambda where, why: skipped.append((where, why)))), skipped


def only(path: Path, content: bytes | str) -> Document:
    (document,), _ = documents(path, content)
    return document


def paragraph(text: str, line: int = 0) -> tuple[Block, ...]:
    return (Block("paragraph", text, line=line),)


# -- text


def test_a_document_without_headings_is_titled_by_its_file_name(tmp_path):
    path = str(tmp_path / "Giant Panda.txt")
    assert only(tmp_path / "Giant Panda.txt", "It eats bamboo.") == Document(
        "Giant Panda", paragraph("It eats bamboo.", 1), path, path
    )


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.md", "intro\n\n##  The Title ##\n\n### Another\n"),
        ("a.markdown", "The Title\n=========\n\ntext"),
        ("a.mdx", "import { Image } from 'astro:assets';\n\n<ul>\n <li>item</li>\n</ul>\n\n# The Title\n"),
        ("a.Rmd", "```{r}\noptions(digits = 2)\n```\n# The Title\n"),
        ("a.md", "---\nlang: en\ntitle: The Title  # a comment\n---\n\n# Another\n"),
        ("a.md", "---\ntags:\n- a\n\n'title': 'The Title'\n...\n"),
        ("a.md", "---\ntitle: >\n  The\n  Title\n---\n"),
        ("a.rst", "=========\nThe Title\n=========\n\ntext"),
        ("a.rst", "Id: 1\nTitle: The Title\n\nAnother\n======="),
        ("a.html", "<title>The\n Title</title><h1>Another</h1>"),
        ("a.htm", "<h2>Another</h2><h1> </h1><h1>The Title<a href='#t'>¶</a></h1>"),
        ("a.txt", "The Title\n\nThis is text."),
        ("a.txt", "From: a@b.example\nSubject: The Title\n\nThis is text."),
    ],
)
def test_the_title_is_stated_or_the_first_heading(tmp_path, name, content):
    assert only(tmp_path / name, content).title == "The Title"


@pytest.mark.parametrize(
    ("name", "content"),
    [("log.md", "# 1.2\n\na\n\n# 1.1\n\nb"), ("log.rst", "Tea\n===\n\na\n\nMilk\n====\n\nb")],
)
def test_one_heading_of_many_alike_is_no_title(tmp_path, name, content):
    assert only(tmp_path / name, content).title == "log"


@pytest.mark.parametrize(
    "content",
    ["Café".encode(), b"\xef\xbb\xbfCaf\xc3\xa9", b"Caf\xe9", "Café".encode("utf-16")],
    ids=["utf-8", "utf-8 with a mark", "latin-1", "utf-16"],
)
def test_usual_encodings_are_read(tmp_path, content):
    assert only(tmp_path / "a.txt", content).text == "Café"


def test_one_bad_byte_does_not_spoil_the_rest(tmp_path):
    assert only(tmp_path / "a.txt", "Müller, ".encode() + b"na\xefve \x81").text == "Müller, naïve \ufffd"


@pytest.mark.parametrize("content", [b"panda\0", b"a\x01\x02\x03"])
def test_a_file_of_unknown_kind_is_refused_unless_it_is_text(tmp_path, content):
    with pytest.raises(Unreadable, match="neither text nor a supported format"):
        documents(tmp_path / "panda", content)


@pytest.mark.parametrize("content", ["Der Pandabär.".encode(), "Der Pandabär.".encode("cp1252")])
@pytest.mark.parametrize("name", ["README", "a.9"])
def test_a_file_of_unknown_kind_is_read_if_it_is_text(tmp_path, name, content):
    assert only(tmp_path / name, content).text == "Der Pandabär."


def test_a_very_long_text_comes_in_parts_that_lose_nothing(tmp_path):
    text = "A paragraph of some words.\n\n" * 100_000
    parts, _ = documents(tmp_path / "a.txt", text)
    assert "\n\n".join(part.text for part in parts) == text.strip()
    assert max(len(part.text) for part in parts) <= 2 << 20
    assert len({part.id for part in parts}) == len(parts) > 1
    assert parts[-1].blocks[-1].line == 199_999


@pytest.mark.parametrize("space", ["\n", " "])
def test_a_long_list_is_not_cut_within_a_word(tmp_path, space):
    names = [f"name{n}" for n in range(300_000)]
    parts, _ = documents(tmp_path / "a.txt", "Names:\n\n" + space.join(names))
    assert len(parts) > 1
    assert [name for part in parts for name in part.text.split()] == ["Names:", *names]


# -- compressed


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.md.gz", b"# Zoo\n\nThe *panda* eats."),
        ("a.gz", b"The panda eats."),
    ],
)
def test_a_compressed_file_is_read_by_its_inner_suffix(tmp_path, name, content):
    document = only(tmp_path / name, gzip.compress(content))
    assert (document.title, document.blocks[-1].text) == ("a" if name == "a.gz" else "Zoo", "The panda eats.")


def test_a_compressed_file_is_refused_beyond_the_limit(tmp_path):
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"panda " * 1_000_000))
    with pytest.raises(Unreadable, match="more than 2 MB when decompressed"):
        list(read(path, lambda where, why: None, 2_000_000))


@pytest.mark.parametrize("content", [b"panda", gzip.compress(b"panda " * 100, mtime=0)[:-10]])
def test_a_damaged_compressed_file_is_refused(tmp_path, content):
    with pytest.raises(Unreadable, match="it cannot be decompressed"):
        documents(tmp_path / "a.txt.gz", content)


# -- html


@pytest.mark.parametrize(
    ("said", "encoding"),
    [
        ("<meta charset=koi8-r>", "koi8-r"),
        ('<?xml version="1.0" encoding="windows-1251"?>', "cp1251"),
        ("<meta charset=koi8-r>", "utf-8"),  # it was saved in another than it says
    ],
)
def test_html_is_read_in_the_charset_that_it_says(tmp_path, said, encoding):
    assert only(tmp_path / "a.html", f"{said}<p>Смотритель маяка".encode(encoding)).text == "Смотритель маяка"


@pytest.mark.parametrize("page", ["<![foo[ x", "</p></x>a", "&#xffffffff;"])
def test_malformed_html_is_read_as_far_as_it_goes(tmp_path, page):
    assert only(tmp_path / "a.html", f"<p>It eats bamboo.{page}").text.startswith("It eats bamboo.")


@pytest.mark.parametrize("part", ["<!--", "<a ", "<![CDATA["])
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
        ("a.md", "-->" + "<!--" * 100_000),
        ("a.md", " ".join("`" * n for n in range(1_000)) + "-->"),
        ("a.md", "`" * 100_000 + " `\n" + "```a\n~~~b\n" * 30_000),
        ("a.md", "- " * 20_000 + "a"),
        ("a.rst", "`" * 100_000),
        ("a.txt", "- a\n" * 100_000),
        ("a.1", ".TH A 1\n" + "\\fB" * 100_000),
    ],
    ids=[
        "empty heading",
        "open sections",
        "long headings",
        "a heading",
        "comments",
        "code",
        "fences",
        *"lbtm",
    ],
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
    assert found == [
        Document("T", paragraph("one"), "7", "https://a.b/"),
        Document("", paragraph("two"), f"{path}:3", path, place="line 3"),
    ]
    assert skipped == []


@pytest.mark.parametrize(
    "row", ['{"_id": "d1", "text": "x", "title": "T"}', '{"docid": "d1", "contents": "x", "title": "T"}']
)
def test_rows_of_the_usual_collections_are_known(tmp_path, row):
    assert only(tmp_path / "a.jsonl", row) == Document(
        "T", paragraph("x"), "d1", str(tmp_path / "a.jsonl"), place="line 1"
    )


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("not json", "it is not JSON"),
        ("[1]", "it is not a JSON object"),
        ('{"text": " "}', "it has no text"),
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
        Document("Aaron", paragraph('Aaron is "a prophet", he said.'), "1", path, place="line 2"),
        Document("B", paragraph("Next"), "2", path, place="line 3"),
    ]


def test_columns_go_by_their_names_in_any_order(tmp_path):
    assert only(tmp_path / "a.csv", "URL,ignored,Title,TEXT\nhttp://u/,x,t,body\n") == Document(
        "t", paragraph("body"), f"{tmp_path / 'a.csv'}:2", "http://u/"
    )


def test_a_row_cannot_pass_for_another_file(tmp_path):
    row = json.dumps({"text": "one", "source": str(tmp_path / "handbook.txt")})
    assert only(tmp_path / "a.jsonl", row).source == f"{tmp_path / 'a.jsonl'}: {tmp_path / 'handbook.txt'}"


def test_a_row_with_too_few_columns_is_reported(tmp_path):
    found, skipped = documents(tmp_path / "a.csv", "id,text\n1\n2,two\n")
    assert [document.text for document in found] == ["two"]
    assert skipped == [(f"{tmp_path / 'a.csv'}:2", "it has 1 columns, but the first line has 2")]


def test_the_rows_of_other_tables_name_their_columns(tmp_path):
    table = only(tmp_path / "a.csv", "Fees in crowns\n\nPier;Fee\nEast;2,50\nWest;3\n")
    assert [(block.kind, block.text, block.line) for block in table.blocks] == [
        ("paragraph", "Fees in crowns", 1), ("row", "Pier: East; Fee: 2,50", 4), ("row", "Pier: West; Fee: 3", 5)
    ]  # fmt: skip


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
    texts = ['"Heroes" is a song.', '"Heroes, unclosed', 'Said "yes".', 'of 5"', "a       tab", "x", "y"]
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
