"""Measure how many words of office files the passages have, against two other readers of each format.

    pip install reportlab typst xlsxwriter
    apt-get install libreoffice-writer-nogui libreoffice-calc-nogui chromium groff ghostscript librsvg2-bin \
        poppler-utils texlive-latex-recommended texlive-fonts-recommended
    python benchmarks/text_recall.py SOURCES FILES

SOURCES: a folder with Markdown, HTML, CSV, SVG, manual pages (*.1) and PDFs. These programs make files in FILES from
them. If FILES exists, what lies there is measured. The other readers: pandoc, pdftotext, and LibreOffice for workbooks,
and all text in the XML of a packed file, or the text of pypdfium2.
"""

from __future__ import annotations

import argparse
import csv
import html
import re
import shutil
import subprocess
import time
import unicodedata
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import date
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import openpyxl
import pypandoc
import pypdfium2
import typst
import xlsxwriter
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import BaseDocTemplate, Frame, PageTemplate, Paragraph

from robust_qa.documents import Cut, FileReader

PARTS = {
    ".docx": r"word/(document|footnotes)\.xml", ".odt": r"content\.xml", ".pptx": r"ppt/slides/slide\d+\.xml",
    ".xlsx": r"xl/(sharedStrings|worksheets/sheet\d+)\.xml", ".ods": r"content\.xml", ".epub": r".*/text/ch\d+\.xhtml",
}  # fmt: skip
NUMBERS = {".docx": 30, ".odt": 10, ".epub": 10, ".pptx": 10}
CSV = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false,false,false,false,-1"  # all sheets, values as stored


def words(text: str) -> Counter[str]:
    """Count words. Those hyphenated at the end of a line are whole, ligatures are letters."""
    text = re.sub(r"(?:[-\u2010]\s*\n\s*|[\x02\ufffe]\s*)(?=[a-z])", "", unicodedata.normalize("NFKC", text))
    return Counter(re.findall(r"\w+", text.lower()))


def run(*command: str | Path, text: bytes | None = None) -> bytes:
    return subprocess.run(command, input=text, capture_output=True, check=True).stdout


def office(format: str, files: Path, *paths: Path) -> None:
    """Convert files with LibreOffice."""
    run("soffice", "--headless", "--convert-to", format, "--outdir", files, *paths)


def make(sources: Path, files: Path) -> None:
    """Write files of each kind, named by the program that made them."""
    files.mkdir(parents=True, exist_ok=True)
    pages = sorted(sources.rglob("*.md"), key=lambda path: -path.stat().st_size)
    texts = [
        re.sub(r"!\[[^]]*\]\([^)]*\)|<img[^>]*>|(?<=\])\(#[^)]*\)", "", page.read_text(encoding="utf-8"))
        for page in pages[:40]
    ]
    for suffix, most in NUMBERS.items():
        for number, text in enumerate(texts[:most]):
            convert(text, suffix[1:], files / f"pandoc-{number:02}{suffix}")
    make_pdfs(sources, texts[10:], files)
    make_workbooks(sorted(sources.rglob("*.csv")), files)


def convert(text: str, format: str, out: Path) -> None:
    pypandoc.convert_text(text, format, format="gfm", outputfile=str(out), extra_args=["-s", "--quiet"])


def make_pdfs(sources: Path, texts: list[str], files: Path) -> None:
    for number, page in enumerate(sorted(sources.rglob("*.html"))[:8]):
        out = files / f"chromium-{number:02}.pdf"
        run("chromium", "--headless", "--no-sandbox", f"--print-to-pdf={out}", page.as_uri())
    for number, page in enumerate(sorted(sources.rglob("*.1"))[:6]):
        content = page.read_bytes()
        run_to(files / f"groff-{number:02}.pdf", "groff", "-k", "-t", "-man", "-Tpdf", text=content)
        script = run("groff", "-k", "-t", "-man", "-Tps", text=content)
        run_to(files / f"ghostscript-{number:02}.pdf", "ps2pdf", "-", "-", text=script)
    for number, page in enumerate(sorted(sources.rglob("*.svg"))[:4]):
        run("rsvg-convert", "-f", "pdf", "-o", files / f"cairo-{number:02}.pdf", page)
    for number, page in enumerate(sorted(sources.rglob("*.pdf"))):
        shutil.copy(page, files / f"found-{number:02}.pdf")
    with TemporaryDirectory() as place:
        for number, text in enumerate(texts[:5]):
            made = Path(place, f"libreoffice-{number:02}.docx")
            convert(text, "docx", made)
            convert(texts[5 + number], "typst", made.with_suffix(".typ"))
            typst.compile(made.with_suffix(".typ"), output=files / f"typst-{number:02}.pdf")
            convert(texts[10 + number], "latex", made.with_name("pdflatex.tex"))
            tex = made.with_name("pdflatex.tex").read_text().replace("documentclass[", "documentclass[twocolumn,")
            made.with_name("pdflatex.tex").write_text(tex)
            latex = ["pdflatex", "-interaction=batchmode", f"-jobname=pdflatex-{number:02}", "pdflatex.tex"]
            subprocess.run(latex, cwd=place, capture_output=True, check=False)  # it complains about some characters
        for made in Path(place).glob("*.pdf"):
            shutil.copy(made, files)
        office("pdf", files, *Path(place).glob("*.docx"))
    for number, text in enumerate(texts[15:20]):
        document = BaseDocTemplate(str(files / f"reportlab-{number:02}.pdf"))
        columns = [Frame(40 + 265 * side, 40, 255, 760) for side in (0, 1)]
        document.addPageTemplates(PageTemplate(frames=columns))
        style = getSampleStyleSheet()["BodyText"]
        document.build([Paragraph(html.escape(part), style) for part in text.split("\n\n")])


def run_to(out: Path, *command: str, text: bytes) -> None:
    out.write_bytes(run(*command, text=text))


def make_workbooks(tables: list[Path], files: Path) -> None:
    for number, table in enumerate(tables[:8]):
        with table.open(encoding="utf-8", newline="") as file:
            rows = [[typed(cell) for cell in row] for row in csv.reader(file)]
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        book.save(files / f"openpyxl-{number:02}.xlsx")
        inline = {"constant_memory": number % 2 == 0}  # writes strings into the cells
        written = xlsxwriter.Workbook(
            files / f"xlsxwriter-{number:02}.xlsx", {"default_date_format": "d mmm yyyy", **inline}
        )
        for half in (rows[: len(rows) // 2], rows[len(rows) // 2 :]):
            sheet = written.add_worksheet()
            bold = written.add_format({"bold": True})
            for index, row in enumerate(half):
                sheet.write_row(index, 0, row)
                sheet.write_rich_string(index, len(row), "Seen ", bold, "twi", "ce")
                sheet.write_formula(index, len(row) + 1, f"=ROW()*{number + 2}", None, (index + 1) * (number + 2))
        written.close()
    with TemporaryDirectory() as place:
        for number, table in enumerate(tables[:8]):
            made = Path(shutil.copy(table, Path(place, f"libreoffice-{number:02}.csv")))
            office(("xlsx", "ods", "xls")[number % 3], files, made)


def typed(cell: str) -> str | float | date:
    for kind in (float, date.fromisoformat):
        try:
            return kind(cell)
        except ValueError:
            pass
    return cell


@cache
def sheets(files: Path) -> dict[str, str]:
    """Convert all workbooks at once, because LibreOffice starts slowly. Return the text of each sheet by its name."""
    with TemporaryDirectory() as place:
        office(CSV, Path(place), *(path for path in files.iterdir() if path.suffix in (".xlsx", ".ods", ".xls")))
        return {sheet.name: sheet.read_text() for sheet in Path(place).iterdir()}


@cache
def by_program(path: Path) -> str:
    match path.suffix:
        case ".pdf":
            return run("pdftotext", path, "-").decode()
        case ".xlsx" | ".ods" | ".xls":
            return "\n".join(text for name, text in sheets(path.parent).items() if name.startswith(path.stem))
        case ".pptx":
            return by_markup(path)  # pandoc does not read slides
        case _:
            return str(pypandoc.convert_file(str(path), "plain", extra_args=["--wrap=none"]))


def by_markup(path: Path) -> str:
    if path.suffix == ".pdf":
        pages = pypdfium2.PdfDocument(path)
        return "\n".join(page.get_textpage().get_text_range() for page in pages)
    if path.suffix == ".xls":
        return by_program(path)
    with zipfile.ZipFile(path) as packed:
        parts = [packed.read(name).decode() for name in packed.namelist() if re.fullmatch(PARTS[path.suffix], name)]
    # numbers of shared strings, formulas, and marks between the runs of a string
    cells = r'<c [^>]*t="s"[^>]*>.*?</c>|<f>.*?</f>|</t></r><r>(?:<rPr>.*?</rPr>)?<t[^>]*>'
    parts = [re.sub(cells, "", part) for part in parts]
    runs = r"</?(?:w:r|w:t|a:r|a:t|text:span|em|strong|code|span|a)(?=[ >])[^>]*>"  # within a word
    return html.unescape(re.sub(r"<[^>]+>", " ", re.sub(runs, "", "\n".join(parts))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", type=Path)
    parser.add_argument("files", type=Path)
    given = parser.parse_args()
    if not given.files.is_dir():
        make(given.sources, given.files)
    reader = FileReader(Cut())
    recalls: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    readers: tuple[Callable[[Path], str], ...] = (by_program, by_markup)
    for path in sorted(given.files.iterdir()):
        began = time.perf_counter()
        passages = list(reader.entries(path, []))
        seconds = time.perf_counter() - began
        have = words("\n".join(f"{passage.title}\n{passage.text}" for passage in passages))
        found = []
        for read in readers:
            want = words(read(path))
            found.append(sum((have & want).values()) / max(1, sum(want.values())))
        recalls[f"{path.stem.partition('-')[0]} {path.suffix}"].append((*found, seconds))
    for suffix, rows in recalls.items():
        for name, values in zip(("other program", "markup"), zip(*rows, strict=True), strict=False):
            mean = sum(values) / len(rows)
            print(f"{suffix}: {len(rows)} files, words of the {name} {mean:.4f}, lowest {min(values):.4f}")
        print(f"{suffix}: {1000 * sum(row[-1] for row in rows) / len(rows):.0f} ms a file")


if __name__ == "__main__":
    main()
