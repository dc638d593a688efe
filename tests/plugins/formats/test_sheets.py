"""Sheets and slides as office programs write them, made by openpyxl, odfpy and pandoc."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable
from pathlib import Path

import openpyxl
import pypandoc
import pytest
from standins.reading import read

from rqa_files import Document, Unreadable

Cells = Iterable[Iterable[object]]


def read_all(path: Path) -> tuple[list[Document], list[str]]:
    """The documents of a file, and the reasons for what is not read."""
    reasons: list[str] = []
    return list(read(path, lambda where, why: reasons.append(why))), reasons


def sheet(path: Path, cells: Cells) -> list[str]:
    """The blocks of a workbook with these cells."""
    book = openpyxl.Workbook()
    for row in cells:
        book.active.append(list(row))
    book.save(path)
    return [block.text for document in read_all(path)[0] for block in document.blocks]


def test_a_second_table_of_a_sheet_has_its_own_names_and_what_is_alone_in_a_row_has_none(tmp_path: Path) -> None:
    cells = [["Berth", "Fee"], ["North", 20], ["South", 30], [], ["Storage"], ["Shed", "Rent"], ["A", 7], ["(net)"]]
    assert sheet(tmp_path / "a.xlsx", cells) == [
        "Berth: North; Fee: 20", "Berth: South; Fee: 30", "Storage", "Shed: A; Rent: 7", "(net)",
    ]  # fmt: skip


def test_groups_of_rows_apart_keep_the_names_of_their_columns(tmp_path: Path) -> None:
    cells = [["Berth", "Keeper"], ["North", "Ada Quill"], [], ["South", "Ole Birch"], ["West", "Cai Lund"]]
    assert sheet(tmp_path / "a.xlsx", cells)[-2:] == [
        "Berth: South; Keeper: Ole Birch",
        "Berth: West; Keeper: Cai Lund",
    ]


def test_a_row_that_is_the_sum_of_those_above_is_no_item(tmp_path: Path) -> None:
    cells = [["Part", "Price"], ["Mast", 5], ["Sail", 4], ["Rope", 2.5], ["Total", 11.5], ["Deposit", 3]]
    assert sheet(tmp_path / "a.xlsx", cells)[-2:] == ["Total; Price: 11.5", "Part: Deposit; Price: 3"]


def test_a_period_over_the_last_column_is_that_of_all_columns(tmp_path: Path) -> None:
    cells = [["In CHF", None, "June 2023"], [None, "Sales", "Profit"], [], ["Zone NA", 125, 27], ["Zone GC", 25, 4]]
    assert sheet(tmp_path / "a.xlsx", cells)[0] == "In CHF: Zone NA; June 2023 Sales: 125; June 2023 Profit: 27"


def test_hidden_columns_are_said(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["Berth", "Cost", "Fee"], ["North", 3, 20]):
        book.active.append(row)
    book.active.column_dimensions["B"].hidden = True
    book.save(tmp_path / "fees.xlsx")
    assert read_all(tmp_path / "fees.xlsx")[1] == ["read with 1 hidden column of the sheet Sheet"]


def spreadsheet(path: Path) -> None:
    """Save a spreadsheet of OpenDocument with a caption, a date, a merged cell, a hidden row and a hidden sheet."""
    from odf import style, table, text
    from odf.opendocument import OpenDocumentSpreadsheet

    book = OpenDocumentSpreadsheet()
    off = style.Style(name="off", family="table")
    off.addElement(style.TableProperties(display="false"))
    book.automaticstyles.addElement(off)
    fees = table.Table(name="Fees")
    cells: Cells = [
        ["Fees of the harbour"],
        [],
        ["Berth", "Since", "Fee"],
        ["North", "2024-05-01", 20],
        ["", "2025-01-31", 22.5],
    ]
    for number, row in enumerate(cells, start=1):
        line = table.TableRow(**({"visibility": "collapse"} if number == 5 else {}))
        for value in row:
            if isinstance(value, int | float):
                cell = table.TableCell(valuetype="float", value=value)
            elif value == "":
                cell = table.CoveredTableCell()
            elif str(value)[:1].isdigit():
                cell = table.TableCell(valuetype="date", datevalue=value)
            else:
                cell = table.TableCell(valuetype="string", **({"numberrowsspanned": 2} if value == "North" else {}))
            if value != "":
                cell.addElement(text.P(text=str(value)))
            line.addElement(cell)
        fees.addElement(line)
    for each in (fees, table.Table(name="Draft", stylename="off")):
        book.spreadsheet.addElement(each)
    book.save(str(path))


def test_a_spreadsheet_of_opendocument_reads_as_a_workbook_does(tmp_path: Path) -> None:
    pytest.importorskip("odf")
    spreadsheet(tmp_path / "fees.ods")
    (document,), reasons = read_all(tmp_path / "fees.ods")
    assert (document.place, [(block.line, block.text) for block in document.blocks]) == (
        "Fees row",
        [
            (1, "Fees of the harbour"),
            (4, "Berth: North; Since: 2024-05-01; Fee: 20"),
            (5, "Berth: North; Since: 2025-01-31; Fee: 22.5"),
        ],
    )
    assert reasons == [
        "read without its hidden sheets: Draft", "read with 1 hidden row of the sheet Fees, such as row 5",
    ]  # fmt: skip


def test_a_spreadsheet_of_opendocument_that_needs_a_password_is_refused_with_the_way_out(tmp_path: Path) -> None:
    pytest.importorskip("odf")
    spreadsheet(tmp_path / "fees.ods")
    stream = io.BytesIO()
    with zipfile.ZipFile(tmp_path / "fees.ods") as old, zipfile.ZipFile(stream, "w") as new:
        for name in old.namelist():
            content = old.read(name).replace(b"</manifest:", b"<manifest:encryption-data/></manifest:", 1)
            new.writestr(name, b"secret" if name == "content.xml" else content)
    (tmp_path / "fees.ods").write_bytes(stream.getvalue())
    with pytest.raises(Unreadable, match="protected by a password"):
        read_all(tmp_path / "fees.ods")


def test_slides_of_opendocument_are_read_with_lists_tables_and_notes(tmp_path: Path) -> None:
    pytest.importorskip("odf")
    from odf import draw, presentation, style, table, text
    from odf.namespaces import PRESENTATIONNS
    from odf.opendocument import OpenDocumentPresentation

    show = OpenDocumentPresentation()
    layout, hidden = style.PageLayout(name="layout"), style.Style(name="hidden", family="drawing-page")
    hidden.addElement(style.DrawingPageProperties(visibility="hidden"))
    show.automaticstyles.addElement(layout)
    show.automaticstyles.addElement(hidden)
    master = style.MasterPage(name="master", pagelayoutname=layout)
    show.masterstyles.addElement(master)

    def frame(*parts: object, kind: str = "outline") -> draw.Frame:
        found, box = draw.Frame(), draw.TextBox()
        found.setAttrNS(PRESENTATIONNS, "class", kind)
        found.addElement(box)
        for part in parts:
            box.addElement(part)
        return found

    page = draw.Page(masterpagename=master)
    fees, inner = text.List(), text.List()
    for outer, item in ((fees, "Boats pay"), (inner, "by length")):
        outer.addElement(entry := text.ListItem())
        entry.addElement(text.P(text=item))
        if outer is fees:
            entry.addElement(inner)
    rows = table.Table()
    for cells in (["Length", "Fee"], ["8 m", "20"]):
        rows.addElement(row := table.TableRow())
        for value in cells:
            row.addElement(cell := table.TableCell())
            cell.addElement(text.P(text=value))
    holder = draw.Frame()
    holder.addElement(rows)
    notes = presentation.Notes()
    notes.addElement(frame(text.P(text="Say it slowly."), kind="notes"))
    for each in (frame(fees), frame(text.P(text="Fees"), kind="title"), holder, notes):
        page.addElement(each)
    show.presentation.addElement(page)
    show.presentation.addElement(second := draw.Page(masterpagename=master, stylename="hidden"))
    second.addElement(frame(text.P(text="Later.")))
    show.save(str(tmp_path / "talk.odp"))
    (one, two), reasons = read_all(tmp_path / "talk.odp")
    assert [(block.kind, block.text, block.level) for block in one.blocks] == [
        ("heading", "Fees", 2),
        ("item", "- Boats pay", 0),
        ("item", "- by length", 1),
        ("row", "Length: 8 m; Fee: 20", 0),
        ("paragraph", "Say it slowly.", 0),
    ]
    assert (two.place, two.text, reasons) == ("slide 2", "Later.", ["read with 1 hidden slide: 2"])


def test_the_notes_of_a_powerpoint_slide_are_read_and_hidden_slides_said(tmp_path: Path) -> None:
    source = "# Fees\n\nBoats pay.\n\n::: notes\nSay it slowly.\n:::\n\n# Rules\n\nLeave at dawn.\n"
    pypandoc.convert_text(source, "pptx", "markdown", outputfile=str(tmp_path / "talk.pptx"))
    stream = io.BytesIO()
    with zipfile.ZipFile(tmp_path / "talk.pptx") as old, zipfile.ZipFile(stream, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(
                name, re.sub(rb"<p:sld ", b'<p:sld show="0" ', content) if name.endswith("/slide2.xml") else content
            )
    (tmp_path / "talk.pptx").write_bytes(stream.getvalue())
    documents, reasons = read_all(tmp_path / "talk.pptx")
    assert ["Say it slowly." in document.text for document in documents] == [True, False]
    assert reasons == ["read with 1 hidden slide: 2"]
