"""Measure how many words of office files the passages have, against two other readers of each format.

    python benchmarks/text_recall.py SOURCES FILES

SOURCES: a folder with Markdown, HTML and CSV, from which Word, OpenDocument, EPUB and slide files are made with pandoc,
PDFs with Chromium (if there is one) and workbooks with openpyxl, into FILES. If FILES exists, what
lies there is measured. The other readers: pandoc, pdftotext and openpyxl, and all text in the XML of a packed file, or
the text of pypdfium2.
"""

from __future__ import annotations

import argparse
import csv
import html
import re
import shutil
import subprocess
import time
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pypandoc
import pypdfium2

from robust_qa.documents import Cut, FileReader

PARTS = {
    ".docx": r"word/(document|footnotes)\.xml", ".odt": r"content\.xml", ".pptx": r"ppt/slides/slide\d+\.xml",
    ".xlsx": r"xl/(sharedStrings|worksheets/sheet\d+)\.xml", ".epub": r".*/text/ch\d+\.xhtml",
}  # fmt: skip
NUMBERS = {".docx": 30, ".odt": 10, ".epub": 10, ".pptx": 10}


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text.lower()))


def make(sources: Path, files: Path) -> None:
    """Write files of each kind, the largest sources first."""
    files.mkdir(parents=True, exist_ok=True)
    pages = sorted(sources.rglob("*.md"), key=lambda path: -path.stat().st_size)
    for suffix, most in NUMBERS.items():
        for number, page in enumerate(pages[:most]):
            out = files / f"{number:02}{suffix}"
            text = re.sub(r"!\[[^]]*\]\([^)]*\)|<img[^>]*>", "", page.read_text(encoding="utf-8"))  # missing pictures
            pypandoc.convert_text(text, suffix[1:], format="gfm", outputfile=str(out), extra_args=["--quiet"])
    for number, table in enumerate(sorted(sources.rglob("*.csv"))[:20]):
        book = openpyxl.Workbook()
        with table.open(encoding="utf-8", newline="") as file:
            for row in csv.reader(file):
                book.active.append(row)
        book.save(files / f"{number:02}.xlsx")
    if chromium := shutil.which("chromium"):
        for number, page in enumerate(sorted(sources.rglob("*.html"))[:30]):
            printing = f"--print-to-pdf={files / f'{number:02}.pdf'}"
            subprocess.run(
                [chromium, "--headless", "--no-sandbox", printing, page.as_uri()], capture_output=True, check=True
            )


def by_program(path: Path) -> str:
    match path.suffix:
        case ".pdf":
            return subprocess.run(["pdftotext", str(path), "-"], capture_output=True, text=True, check=True).stdout
        case ".xlsx":
            book = openpyxl.load_workbook(path, read_only=True, data_only=True)
            return "\n".join(str(cell) for sheet in book for row in sheet.values for cell in row if cell is not None)
        case ".pptx":
            return by_markup(path)  # pandoc does not read slides
        case _:
            return str(pypandoc.convert_file(str(path), "plain", extra_args=["--wrap=none"]))


def by_markup(path: Path) -> str:
    if path.suffix == ".pdf":
        pages = pypdfium2.PdfDocument(path)
        return "\n".join(page.get_textpage().get_text_bounded() for page in pages)
    with zipfile.ZipFile(path) as packed:
        parts = [packed.read(name).decode() for name in packed.namelist() if re.fullmatch(PARTS[path.suffix], name)]
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
        recalls[path.suffix].append((*found, seconds))
    for suffix, rows in recalls.items():
        for name, values in zip(("other program", "markup"), zip(*rows, strict=True), strict=False):
            mean = sum(values) / len(rows)
            print(f"{suffix}: {len(rows)} files, words of the {name} {mean:.4f}, lowest {min(values):.4f}")
        print(f"{suffix}: {1000 * sum(row[-1] for row in rows) / len(rows):.0f} ms a file")


if __name__ == "__main__":
    main()
