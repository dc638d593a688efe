"""The format of a file is decided by its content, then by its suffix; encodings by what the bytes say."""

from __future__ import annotations

import pytest

from robust_qa import ConfigError
from rqa_files import Cut, FileReader, charset


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("a.doc", "<html><body><p>The <b>fee</b> is 5.</p></body></html>", "The fee is 5."),
        ("letter", "From: Ann <a@b.c>\nTo: Bo <b@c.d>\nSubject: Fee\n\nThe fee is 5.", "The fee is 5."),
        ("a.txt", r"{\rtf1\ansi The fee is {\b 5}.\par}", "The fee is 5."),
        ("a.pdf", "The fee is 5.", "The fee is 5."),
    ],
)
def test_a_file_with_another_suffix_is_read_as_what_it_is(document, name, content, text):
    assert document(name, content).blocks[-1].text == text


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1251", "Маяк был построен в 1871 году. Смотрителя маяка звали Иван Петров, он жил у моря."),
        ("cp932", "灯台は一八七一年に建てられました。灯台守の名前は佐藤健一です。"),
        ("utf-16-le", "The café is open."),
        ("utf-16-be", "The café is open."),
        ("cp1252", "Le phare a été bâti en 1871; la crêpe coûte 4 € à l’entrée."),
    ],
)
def test_encodings_without_a_mark_are_detected(document, encoding, text):
    assert document("a.txt", text.encode(encoding)).text == text


@pytest.mark.parametrize(
    ("text", "encoded", "label"),
    [
        ("ประภาคาร", "cp874", "windows-874"),
        ("מגדלור", "iso8859-8", "iso-8859-8-i"),
        ("恒裏", "cp950", "Big5"),
        ("Fährhäuser", "mac-roman", "macintosh"),
    ],
)
def test_text_with_a_label_is_decoded(text: str, encoded: str, label: str) -> None:
    assert text.encode(encoded).decode(charset(b"", label)) == text


def test_an_unknown_encoding_is_an_error() -> None:
    with pytest.raises(ConfigError, match="no encoding 'cp12511'"):
        FileReader(Cut(), encoding="cp12511")


@pytest.mark.parametrize("label", ["ISO_8859-2:1987", "Windows-1250"])
def test_a_page_declares_its_charset(label: str) -> None:
    page = f"<meta charset='{label}'>Łódź".encode("iso8859-2" if label != "Windows-1250" else "cp1250")
    assert "ódź" in page.decode(charset(page, page=True))


@pytest.mark.parametrize("label", ["", "replacement", "utf-7", "ü"])
def test_unknown_labels_give_no_charset(label: str) -> None:
    assert charset(b"", label) == ""
