"""Word processor files, slides and books, made by pandoc."""

from __future__ import annotations

import io
import re
import zipfile
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pypandoc
import pytest

from robust_qa.documents import Document, Excerpt, Unreadable, read

SOURCE = """---
title: Handbook
---

# Fees

Boats pay by length[^1]:

- up to 8 m
    - with a mast

[^1]: Since 1999.

| Length | Fee |
|--------|-----|
| 8 m    | 20  |

# Rules

Leave at dawn. Return at dusk.
"""


@cache
def made(format: str, source: str = SOURCE) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "made"
        pypandoc.convert_text(source, format, "markdown", outputfile=str(path), extra_args=["-s"])
        return path.read_bytes()


def with_body(body: str) -> bytes:
    """A Word file with this XML in its body."""
    found, stream = io.BytesIO(made("docx", "Text.")), io.BytesIO()
    with zipfile.ZipFile(found) as old, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "word/document.xml":
                content = re.sub(
                    rb"<w:body>.*</w:body>", b"<w:body>" + body.encode() + b"</w:body>", content, flags=re.S
                )
            new.writestr(name, content)
    return stream.getvalue()


def documents(path: Path, content: bytes) -> tuple[list[Document], list[str]]:
    """The documents of a file with this content, and the reasons for what is not read."""
    path.write_bytes(content)
    reasons: list[str] = []
    return list(read(path, lambda where, why: reasons.append(why))), reasons


@pytest.mark.parametrize("format", ["docx", "odt", "pptx", "epub", "rtf", "latex", "asciidoc", "org", "fb2"])
def test_no_word_of_any_format_is_lost(tmp_path, format):
    found, _ = documents(tmp_path / f"a.{format}", made(format))
    text = " ".join(" ".join(document.text for document in found).split())
    for part in ("Boats pay by length", "up to 8 m", "with a mast", "Leave at dawn."):
        assert part in text
    assert "Since 1999." in text or format == "rtf"  # xberg loses the footnotes of rtf
    assert "Length: 8 m; Fee: 20" in text


@pytest.mark.parametrize("format", ["docx", "odt", "pptx", "epub", "latex", "asciidoc", "org", "fb2"])
def test_the_title_is_that_of_the_document(tmp_path, format):
    found, _ = documents(tmp_path / f"a.{format}", made(format))
    assert found[0].title == "Handbook"


def test_passages_follow_the_headings_of_a_word_file(passages):
    assert passages("a.docx", made("docx"), words=10)[-1] == Excerpt(
        "Handbook > Rules", "Leave at dawn. Return at dusk.\n\nSince 1999."
    )


def test_each_slide_is_a_document_with_its_number(tmp_path):
    found, _ = documents(tmp_path / "a.pptx", made("pptx"))
    assert [document.place for document in found] == [f"slide {n}" for n in range(1, len(found) + 1)]
    assert len({document.id for document in found}) == len(found) > 2


BODY = [
    ("<w:p><w:r><w:t>Rent: </w:t></w:r><w:sdt><w:sdtContent><w:r><w:t>one crown</w:t></w:r></w:sdtContent></w:sdt>"
     "<w:r><w:t>.</w:t></w:r></w:p>", ["Rent: one crown."]),
    ("<w:sdt><w:sdtContent><w:p><w:r><w:t>a</w:t></w:r></w:p></w:sdtContent></w:sdt>", ["a"]),
    ("<w:p><w:r><w:t>At </w:t></w:r><w:del><w:r><w:delText>nine</w:delText></w:r></w:del>"
     "<w:ins><w:r><w:t>ten</w:t></w:r></w:ins></w:p>", ["At ten"]),
    ('<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val="2000000"/></w:tcPr><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc></w:tr>'
     "</w:tbl>", ["a"]),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), BODY, ids=["control", "block", "change", "span"])
def test_text_stays_wherever_it_is(blocks, body, expected):
    assert [text for _, text in blocks("a.docx", with_body(body))] == expected


def test_content_that_is_not_read_is_reported(tmp_path):
    stream = io.BytesIO(made("docx"))
    with zipfile.ZipFile(stream, "a") as archive:
        archive.writestr("word/charts/chart1.xml", "<c/>")
    assert documents(tmp_path / "a.docx", stream.getvalue())[1] == ["read incompletely: without its charts"]


def test_the_size_limit_counts_what_a_word_file_unpacks_to(tmp_path):
    (tmp_path / "a.docx").write_bytes(with_body("<w:p/>" * 500_000))
    with pytest.raises(Unreadable, match="more than 1 MB when decompressed"):
        list(read(tmp_path / "a.docx", print, limit=1_000_000))


def test_a_damaged_word_file_is_refused(tmp_path):
    with pytest.raises(Unreadable, match="it is damaged"):
        documents(tmp_path / "a.docx", b"PK\3\4 nothing")


def test_letters_with_accents_in_latex_are_read(blocks):
    text = (
        r"\begin{document}\section{A}Jos\'e M\"uller, \O{}rn, na\"{\i}ve, \v{S}koda, \c{c}a, Stra\ss e.\end{document}"
    )
    assert blocks("a.tex", text)[-1] == ("paragraph", "José Müller, Ørn, naïve, Škoda, ça, Straße.")
