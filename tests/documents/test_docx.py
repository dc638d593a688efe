from __future__ import annotations

import io
import re
import sys

import pytest

from robust_qa.documents import Excerpt, Unreadable
from robust_qa.kit import install_hint


def word_file(title: str = "") -> bytes:
    docx = pytest.importorskip("docx", reason="python-docx is not installed")
    document = docx.Document()
    document.core_properties.title = title
    document.add_heading("Handbook", 0)
    document.add_heading("Fees", 1)
    document.add_paragraph("Boats pay by length:")
    document.add_paragraph("up to 8 m", style="List Bullet")
    document.add_paragraph("with a mast", style="List Bullet 2")
    table = document.add_table(2, 2)
    for cell, text in zip(table._cells, ["Length", "Fee", "8 m", "20"], strict=True):
        cell.text = text
    document.add_heading("Rules", 1)
    document.add_paragraph("Leave at dawn. Return at dusk. Do not stay out at night without a lamp.")
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def test_passages_follow_the_structure_of_a_word_file(passages):
    assert passages("a.docx", word_file(), words=20) == [
        Excerpt("Handbook > Fees", "Boats pay by length:\n- up to 8 m\n  - with a mast\n\nLength: 8 m; Fee: 20"),
        Excerpt("Handbook > Rules", "Leave at dawn. Return at dusk. Do not stay out at night without a lamp."),
    ]


def test_the_title_in_the_properties_comes_first(document):
    assert document("a.docx", word_file("Harbour")).title == "Harbour"


def test_a_damaged_word_file_is_refused(document):
    pytest.importorskip("docx", reason="python-docx is not installed")
    with pytest.raises(Unreadable, match="python-docx cannot read it"):
        document("a.docx", b"PK\3\4 nothing")


def test_without_python_docx_a_word_file_is_refused_with_the_command_that_installs_it(document, monkeypatch):
    monkeypatch.setitem(sys.modules, "docx", None)
    with pytest.raises(Unreadable, match=re.escape(install_hint("docx"))):
        document("a.docx", b"")
