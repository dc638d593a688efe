"""Word processor files, slides and books, made by pandoc."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import docx
import pypandoc
import pytest
from standins.reading import read

from rqa_files import Document, Excerpt, Unreadable

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


def with_body(body: str, times: int = 1) -> bytes:
    """A Word file with this XML in its body, so many times."""
    found, stream = io.BytesIO(made("docx", "Text.")), io.BytesIO()
    with zipfile.ZipFile(found) as old, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            before, start, rest = old.read(name).partition(b"<w:body>")
            with new.open(name, "w") as part:
                part.write(before + start)
                for _ in range(times if start else 0):
                    part.write(body.encode())
                part.write(rest[rest.find(b"</w:body>") :])
    return stream.getvalue()


def test_a_table_that_repeats_itself_is_no_bomb(tmp_path):
    found, _ = documents(tmp_path / "a.docx", with_body("<w:p><w:r><w:t>present</w:t></w:r></w:p>", 50_000))
    assert sum(document.text.count("present") for document in found) == 50_000


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="there is no /proc")
def test_a_worker_reads_several_files(tmp_path):
    workers = []
    for _ in range(2):
        documents(tmp_path / "a.docx", made("docx"))
        started = (children.read_text().split() for children in Path("/proc/self/task").glob("*/children"))
        workers.append({child for children in started for child in children})  # other threads come and go
    assert workers[0] == workers[1]


def documents(path: Path, content: bytes) -> tuple[list[Document], list[str]]:
    """The documents of a file with this content, and the reasons for what is not read."""
    path.write_bytes(content)
    reasons: list[str] = []
    return list(read(path, lambda where, why: reasons.append(why))), reasons


@pytest.mark.parametrize("format", ["docx", "odt", "pptx", "epub", "latex", "asciidoc", "org"])
def test_no_word_of_any_format_is_lost(tmp_path, format):
    found, _ = documents(tmp_path / f"a.{format}", made(format))
    text = " ".join(" ".join(document.text for document in found).split())
    for part in ("Boats pay by length", "up to 8 m", "with a mast", "Leave at dawn."):
        assert part in text
    assert "Since 1999." in text
    assert "Length: 8 m; Fee: 20" in text


def test_the_text_on_the_line_below_a_chapter_is_read(tmp_path):
    source = rb"\documentclass{report}\begin{document}\chapter{Fees}" b"\nBoats pay by length.\n" rb"\end{document}"
    found, _ = documents(tmp_path / "a.tex", source)
    assert "Boats pay by length." in found[0].text


@pytest.mark.parametrize("format", ["docx", "odt", "epub", "latex", "org"])
def test_the_title_is_that_of_the_document(tmp_path, format):
    found, _ = documents(tmp_path / f"a.{format}", made(format))
    assert found[0].title == "Handbook"


def test_passages_follow_the_headings_of_a_word_file(passages):
    assert passages("a.docx", made("docx"), words=10)[-1] == Excerpt(
        "Handbook > Rules", "Leave at dawn. Return at dusk.\n\nSince 1999.", line=9
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


READ = """
import resource, sys
from pathlib import Path
from robust_qa.host.loading import Host
from rqa_files import Cut, FileReader, Unreadable, isolation
for path, entries in FileReader(Cut(), formats=Host().file_formats).entries_of(map(Path, sys.argv[1:]), []):
    try:
        print(*(entry.text for entry in entries))
    except Unreadable as error:
        print(error)
isolation._end_idle()
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def test_a_word_file_that_unpacks_to_300_megabytes_costs_one_message_and_little_memory(tmp_path):
    (tmp_path / "bomb.docx").write_bytes(with_body("<w:p><w:r><w:t>A b</w:t></w:r></w:p>" * 80_000, 100))
    (tmp_path / "note.txt").write_text("The tower opened in 1912.")
    ended = subprocess.run(
        [sys.executable, "-c", READ, tmp_path / "bomb.docx", tmp_path / "note.txt"],
        capture_output=True,
        check=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    message, other, kilobytes = ended.stdout.splitlines()
    assert message == "it has more than 200 MB when decompressed"
    assert other == "The tower opened in 1912."
    assert int(kilobytes) < 250_000


PROTECTED = Path(__file__).parent / "protected"  # by qpdf and msoffcrypto-tool; the password is "secret"


@pytest.mark.parametrize("name", ["locked.pdf", "locked.xlsx"])
def test_a_file_that_needs_a_password_is_refused_with_the_way_out(name):
    with pytest.raises(Unreadable, match="it is protected by a password; save a copy without one to read it"):
        list(read(PROTECTED / name, print))


def test_a_pdf_that_only_forbids_changes_is_read():
    assert [page.text for page in read(PROTECTED / "restricted.pdf", print)] == ["The tower opened in 1912."]


def test_a_damaged_word_file_is_refused(tmp_path):
    with pytest.raises(Unreadable, match="it is damaged"):
        documents(tmp_path / "a.docx", b"PK\3\4 nothing")


def test_commands_of_latex_are_written_out_and_comments_left_out(blocks):
    text = r"""% A draft
\newcommand{\dev}{ThermoCore}
\begin{document}\section{Method}\label{sec:m}
The pump of \dev{} ran at \SI{1450}{rpm} and
\qty{2.5}{\kilo\watt}. % a secret
See~\cite{lind} and Table~\ref{tab:a}.

\begin{table}\begin{tabular}{lr}\toprule Part & Loss\\ \midrule Valve & 3\%\\ \bottomrule\end{tabular}\end{table}
\begin{verbatim}
make
make install
\end{verbatim}
\end{document}
"""
    found = blocks("a.tex", text)
    assert found[:3] == [
        ("heading", "Method"),
        ("paragraph", "The pump of ThermoCore ran at 1450 rpm and 2.5 kW. See [lind] and Table tab:a."),
        ("row", "Part: Valve; Loss: 3%"),
    ]
    assert found[3][1] == "make\nmake install"


def test_letters_with_accents_in_latex_are_read(blocks):
    text = (
        r"\begin{document}\section{A}Jos\'e M\"uller, \O{}rn, na\"{\i}ve, \v{S}koda, \c{c}a, Stra\ss e.\end{document}"
    )
    assert blocks("a.tex", text)[-1] == ("paragraph", "José Müller, Ørn, naïve, Škoda, ça, Straße.")


@pytest.mark.parametrize("character", ["u\u0308", "\u2126", "\u212a"])
@pytest.mark.parametrize("format", ["docx", "odt", "epub", "org", "rst"])
def test_headings_stay_beside_a_character_in_decomposed_form(
    format: str, character: str, document: Callable[..., Document]
) -> None:
    content = made(format, f"# Harbour {character}\n\nThe fee is 20 {character}.\n\n## Opening\n\nIt opens at nine.\n")
    found = document(f"a.{format}", content)
    assert [block.kind for block in found.blocks if not block.text.startswith("Entry:")] == ["heading", "paragraph"] * 2
    assert not any("style_name" in block.text for block in found.blocks)


def word_file(path: Path, fill: Callable[[Any], None]) -> tuple[list[tuple[str, str]], list[str]]:
    """The blocks of a Word file that python-docx makes, and the reasons for what is not read."""
    file = docx.Document()
    fill(file)
    stream = io.BytesIO()
    file.save(stream)
    found, reasons = documents(path, stream.getvalue())
    return [(block.kind, block.text) for document in found for block in document.blocks], reasons


def test_a_merged_cell_of_word_is_in_each_of_its_rows(tmp_path):
    def fill(file: Any) -> None:
        table = file.add_table(3, 2)
        for row, cells in zip(table.rows, [("Pier", "Fee"), ("North", "20"), ("", "30")], strict=True):
            for cell, text in zip(row.cells, cells, strict=True):
                cell.text = text
        table.cell(1, 0).merge(table.cell(2, 0))

    found, _ = word_file(tmp_path / "a.docx", fill)
    assert found == [("row", "Pier: North; Fee: 20"), ("row", "Pier: North; Fee: 30")]


def test_a_comment_of_word_is_said_and_neither_it_nor_its_mark_is_text(tmp_path):
    def fill(file: Any) -> None:
        text = file.add_paragraph("Boats pay 20 crowns.")
        file.add_comment(text.runs, text="Is this true?\nAsk Ada.", author="Ole")

    found, reasons = word_file(tmp_path / "a.docx", fill)
    assert (found, reasons) == ([("paragraph", "Boats pay 20 crowns.")], ["read incompletely: without its comments"])


def test_headings_of_rtf_are_those_of_its_styles(blocks):
    source = r"""{\rtf1\ansi{\fonttbl{\f0 Arial;}}
{\stylesheet{\s0\snext0\f0 Normal;}{\s1\sbasedon0\snext0\f0\fs36 heading 1;}{\s12\sbasedon0\f0 Quote;}}
\pard\plain \s1\f0\fs36 Fees\par
\pard\plain \s12\f0 Boats pay by length.\par}"""
    assert blocks("a.rtf", source) == [("heading", "Fees"), ("paragraph", "Boats pay by length.")]


def test_a_space_before_the_end_of_bold_text_is_no_mark(tmp_path):
    def fill(file: Any) -> None:
        text = file.add_paragraph()
        for part, bold in (("Boats pay ", True), ("20 crowns.", False)):
            text.add_run(part).bold = bold

    found, _ = word_file(tmp_path / "a.docx", fill)
    assert found == [("paragraph", "Boats pay 20 crowns.")]


def test_the_title_style_of_opendocument_is_a_heading(tmp_path):
    pytest.importorskip("odf")
    from odf import style, text
    from odf.opendocument import OpenDocumentText

    made = OpenDocumentText()
    made.styles.addElement(style.Style(name="Title", family="paragraph"))
    made.text.addElement(text.P(text="Fees", stylename="Title"))
    made.text.addElement(text.P(text="Boats pay by length."))
    stream = io.BytesIO()
    made.write(stream)
    (found,), _ = documents(tmp_path / "a.odt", stream.getvalue())
    assert [(block.kind, block.text) for block in found.blocks] == [
        ("heading", "Fees"),
        ("paragraph", "Boats pay by length."),
    ]
