from __future__ import annotations

import io
import re
import sys
import zipfile

import pytest

from robust_qa.documents import Excerpt, Unreadable
from robust_qa.documents.formats import read
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


BODY = [
    ("<w:p><w:r><w:t>Rent: </w:t></w:r><w:sdt><w:sdtContent><w:r><w:t>one crown</w:t></w:r></w:sdtContent></w:sdt>"
     "<w:r><w:t>.</w:t></w:r></w:p>", ["Rent: one crown."]),
    ("<w:sdt><w:sdtContent><w:p><w:r><w:t>a</w:t></w:r></w:p></w:sdtContent></w:sdt>", ["a"]),
    ("<w:p><w:r><w:t>At </w:t></w:r><w:del><w:r><w:delText>nine</w:delText></w:r></w:del>"
     "<w:ins><w:r><w:t>ten</w:t></w:r></w:ins></w:p>", ["At ten"]),
    ("<w:p><w:r><w:t>a</w:t><w:pict><w:txbxContent><w:p><w:r><w:t>b</w:t></w:r></w:p></w:txbxContent></w:pict></w:r>"
     "</w:p>", ["a", "b"]),
    ("<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p><w:tbl><w:tr><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc>"
     "</w:tr></w:tbl></w:tc><w:sdt><w:sdtContent><w:tc><w:p><w:r><w:t>c</w:t></w:r></w:p></w:tc></w:sdtContent></w:sdt>"
     "</w:tr></w:tbl>", ["a | c", "b"]),
    ('<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val="2000000"/></w:tcPr><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc></w:tr>'
     "</w:tbl>", ["a"]),
]  # fmt: skip


def with_body(body: str) -> bytes:
    """A Word file with this XML in its body."""
    found, stream = io.BytesIO(word_file()), io.BytesIO()
    with zipfile.ZipFile(found) as old, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "word/document.xml":
                content = re.sub(
                    rb"<w:body>.*</w:body>", b"<w:body>" + body.encode() + b"</w:body>", content, flags=re.S
                )
            new.writestr(name, content)
    return stream.getvalue()


@pytest.mark.parametrize(("body", "expected"), BODY, ids=["control", "block", "change", "box", "table", "span"])
def test_text_stays_wherever_it_is(blocks, body, expected):
    assert [text for _, text in blocks("a.docx", with_body(body))] == expected


def test_content_that_is_not_read_is_reported(tmp_path):
    (tmp_path / "a.docx").write_bytes(with_body("<w:p><w:r><w:t>a</w:t><w:object/></w:r></w:p>"))
    skipped = []
    assert [document.text for document in read(tmp_path / "a.docx", lambda *row: skipped.append(row))] == ["a"]
    assert skipped == [(f"{tmp_path}/a.docx", "read incompletely: without its embedded objects")]


def test_the_size_limit_counts_what_a_word_file_unpacks_to(tmp_path):
    (tmp_path / "a.docx").write_bytes(with_body("<w:p/>" * 500_000))
    with pytest.raises(Unreadable, match="more than 1 MB when decompressed"):
        list(read(tmp_path / "a.docx", print, limit=1_000_000))


def test_a_damaged_word_file_is_refused(document):
    pytest.importorskip("docx", reason="python-docx is not installed")
    with pytest.raises(Unreadable, match="python-docx cannot read it"):
        document("a.docx", b"PK\3\4 nothing")


def test_without_python_docx_a_word_file_is_refused_with_the_command_that_installs_it(document, monkeypatch):
    monkeypatch.setitem(sys.modules, "docx", None)
    with pytest.raises(Unreadable, match=re.escape(install_hint("docx"))):
        document("a.docx", b"")
