"""The main text of a page."""

from __future__ import annotations

import time

import pytest

from rqa_web import pages  # private: an installed trafilatura has to be switched off

ARTICLE = """<!doctype html><html><head><title>Ferry</title>
<script>var x = "<p>No text of the page.</p>";</script></head>
<body><nav><ul><li><a href="/">Home</a></li><li><a href="/more">More of all this</a></li></ul></nav>
<article><h1>The Skerry ferry</h1>
<p>The ferry runs twice a day between the harbour and the island, except on <a href="#">Sundays</a>.
<p>A single crossing costs &pound;4.20 and a return &pound;7.00;<br>dogs travel free of charge with their owner.</p>
<style>p { color: red }</style><p>Brief.</p></article>
<footer><p>All rights reserved.</p></footer></body></html>"""


def lines(html: str, words: int = 1000, kind: str = "text/html") -> list[str]:
    return pages.read(pages.Page(html.encode(), kind, "utf-8"), words).split("\n\n")


def test_the_main_text_of_a_page_is_read() -> None:
    pytest.importorskip("trafilatura", reason="the extra [web] is not installed")
    found = lines(ARTICLE)
    assert "The ferry runs twice a day between the harbour and the island, except on Sundays." in found
    assert "All rights reserved." not in found


def test_without_trafilatura_heading_and_paragraphs_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "_trafilatura", lambda: None)
    assert lines(ARTICLE) == [
        "The Skerry ferry",
        "The ferry runs twice a day between the harbour and the island, except on Sundays.",
        "A single crossing costs £4.20 and a return £7.00;dogs travel free of charge with their owner.",
        "All rights reserved.",
    ]


@pytest.mark.parametrize("extractor", [True, False])
def test_exponents_are_separated_and_footnote_marks_removed(monkeypatch: pytest.MonkeyPatch, extractor: bool) -> None:
    if extractor:
        pytest.importorskip("trafilatura", reason="the extra [web] is not installed")
    else:
        monkeypatch.setattr(pages, "_trafilatura", lambda: None)
    shown = (
        "14C decays. It takes 2^32-1 bytes, 10^&minus;3 s, 10^8 (14C) and was built in 1925 by the 18th keeper.[3]"
        " So it is told."
    )
    marked = (
        "<p><sup>14</sup>C decays. It takes <i>2</i><sup>32</sup>-1 bytes, 10<sup>&minus;3</sup> s, "
        "10<sup><a href='/exp' style='color:#00f'>8</a></sup> (<sup>14</sup>C) and was built in 1925"
        "<sup class=r><a href='#n'><span>[</span>1<span>]</span></a></sup> by the 18<sup>th</sup> keeper.<sup>3</sup> "
        "So it is told.</p>"
    )
    assert pages.unescaped(shown) in lines(ARTICLE.replace("<p>The ferry", f"{marked}<p>The ferry"))


def test_a_page_is_cut_after_the_maximum_words() -> None:
    page = "one two three four\n\nfive six seven eight\n\nnine ten eleven"
    assert lines(page, 7, "text/plain") == ["one two three four", "five six seven"]


def test_control_characters_are_removed() -> None:
    assert lines("A red \x1b[31mparagraph\x07 \u202eof text.", kind="text/plain") == ["A red [31mparagraph of text."]


@pytest.mark.parametrize(
    ("body", "charset"),
    [
        ("Fährhäuser am Kai".encode("latin-1"), "iso-8859-1"),
        ("Fährhäuser am Kai".encode(), ""),
        ("<meta charset='windows-1252'>Fährhäuser am Kai".encode("cp1252"), ""),
        ("Fährhäuser am Kai".encode(), "rot13"),
        ("Fährhäuser am Kai".encode("utf-16"), "utf-16"),
        ("<meta charset=utf-16>Fährhäuser am Kai".encode(), ""),
    ],
)
def test_the_charset_is_the_sites_or_the_pages_or_utf_8(body: bytes, charset: str) -> None:
    assert pages.Page(body, "text/html", charset).decoded().endswith("Fährhäuser am Kai")


@pytest.mark.parametrize(("text", "label"), [("灯台", "Shift_JIS"), ("燈塔", "Big5")])
def test_the_charsets_of_the_web_are_read(text: str, label: str) -> None:
    assert pages.Page(text.encode(label), "text/plain", label).decoded() == text


@pytest.mark.parametrize("number", ["9" * 5000, "x" + "F" * 5000])
def test_an_invalid_character_reference_is_replaced(number: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "_trafilatura", lambda: None)
    assert lines(f"<p>The lamp &amp; the &#{number}; keeper &#0065;.") == ["The lamp & the \ufffd keeper A."]


@pytest.mark.parametrize(
    "html",
    ["<", "<p>", "<!--", "<script>", "<p>Many a word. "],
)
def test_repeated_markup_is_read_in_linear_time(html: str) -> None:
    began = time.process_time()
    pages.read(pages.Page(html.encode() * 30_000, "text/html"), 1000)
    assert time.process_time() - began < 5
