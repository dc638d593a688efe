"""The character encoding of text from outside."""

from __future__ import annotations

import pytest

from robust_qa import ConfigError
from robust_qa.documents import Cut, FileReader, charset


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
