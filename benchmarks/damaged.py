"""Damage files of every format, and measure what an index loses.

    apt-get install libreoffice-calc-nogui libreoffice-impress-nogui libreoffice-writer-nogui
    python benchmarks/damaged.py [FILES]

Makes a file of each format from a page of the manual. FILES is a folder with more files, for formats that no program
here writes, such as msg and xlsb. Each file is truncated at ten places, has flipped bytes five times, and gets the
suffixes of three other formats. A folder with the damaged files and the whole ones is indexed.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import random
import resource
import shutil
import subprocess
import time
from collections import Counter
from email.message import EmailMessage
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import openpyxl
import pypandoc

from robust_qa.documents import Indexed, Skipped, summarised
from rqa_bm25 import Bm25

SOURCE = Path(__file__).parents[1] / "man" / "rqa-config.5.md"
PANDOC = {
    "docx": "docx", "odt": "odt", "pptx": "pptx", "epub": "epub", "rtf": "rtf", "tex": "latex", "adoc": "asciidoc",
    "org": "org", "fb2": "fb2", "rst": "rst", "html": "html", "1": "man", "ipynb": "ipynb",
}  # fmt: skip
LIBREOFFICE = (("docx", "doc"), ("docx", "pdf"), ("pptx", "ppt"), ("pptx", "odp"), ("xlsx", "ods"), ("xlsx", "xls"))
PLACES = 10  # where a file is truncated
FLIPS = 5  # copies with flipped bytes, 1, 10, ... of them
SUFFIXES = 3  # copies with the suffix of another format


def make(folder: Path) -> None:
    """Write a file of each format."""
    text = SOURCE.read_text(encoding="utf-8")
    for suffix, format in PANDOC.items():
        out = str(folder / f"manual.{suffix}")
        pypandoc.convert_text(text, format, format="gfm", outputfile=out, extra_args=["-s", "--quiet"])
    rows = [{"number": str(n), "text": line} for n, line in enumerate(filter(None, text.split("\n")))]
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "ada@example.org", "bo@example.org", "The manual"
    message.set_content(text)
    page = (folder / "manual.html").read_text(encoding="utf-8")
    message.add_alternative(page, subtype="html")
    for name, content in {
        "manual.md": text,
        "manual.txt": text,
        "manual.py": Path(__file__).read_text(encoding="utf-8"),
        "manual.csv": delimited(rows, ","),
        "manual.tsv": delimited(rows, "\t"),
        "manual.jsonl": "".join(json.dumps(row) + "\n" for row in rows),
        "manual.json": json.dumps(rows),
        "manual.srt": "".join(map(cue, range(len(rows)), filter(None, text.split("\n")))),
        "manual.eml": message.as_string(),
        "manual.mbox": f"From ada@example.org\n{message.as_string()}\n" * 3,
        "manual.mht": "From: <Saved>\nSubject: Manual\nDate: Mon, 1 Jan 2024 00:00:00 -0000\nMIME-Version: 1.0\n"
        f"Content-Type: text/html; charset=utf-8\n\n{page}",
    }.items():
        (folder / name).write_text(content, encoding="utf-8")
    (folder / "manual.txt.gz").write_bytes(gzip.compress(text.encode()))
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(list(row.values()))
    book.save(folder / "manual.xlsx")
    for source, format in LIBREOFFICE:
        path = folder / f"manual.{source}"
        subprocess.run(
            ["soffice", "--headless", "--convert-to", format, "--outdir", folder, path], check=True, capture_output=True
        )


def cue(number: int, text: str) -> str:
    return f"{number}\n00:00:{number % 60:02},000 --> 00:01:00,000\n{text}\n\n"


def delimited(rows: list[dict[str, str]], mark: str) -> str:
    stream = StringIO()
    writer = csv.DictWriter(stream, list(rows[0]), delimiter=mark)
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def damage(whole: list[Path], folder: Path) -> None:
    """Write the damaged copies of all files."""
    for index, path in enumerate(whole):
        content, kind = path.read_bytes(), "".join(path.suffixes)
        for place in range(PLACES):
            part = content[: (place * len(content) + len(content) // 2) // PLACES]
            (folder / f"{kind[1:]}-cut{place}{kind}").write_bytes(part)
        for power in range(FLIPS):
            flipped, chance = bytearray(content), random.Random(power)
            for at in chance.sample(range(len(content)), min(10**power, len(content) // 2)):
                flipped[at] ^= 1 << chance.randrange(8)
            (folder / f"{kind[1:]}-flipped{power}{kind}").write_bytes(flipped)
        for step in range(1, SUFFIXES + 1):
            other = whole[(index + 7 * step) % len(whole)].suffix
            shutil.copy(path, folder / f"{kind[1:]}-named{step}{other}")


def indexed(folder: Path, place: Path) -> tuple[dict[str, Indexed], Skipped]:
    """Index a folder. Return what the index keeps of each file, and what was skipped."""
    retriever = Bm25(Bm25.Options(index=place))
    report = retriever.index([folder])
    return {Path(name).name: file for name, file in retriever.files().items()}, list(report.skipped)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="?", type=Path, metavar="FILES")
    given = parser.parse_args().files
    with TemporaryDirectory() as temporary:
        folder = Path(temporary, "files")
        folder.mkdir()
        make(folder)
        for path in given.iterdir() if given else ():
            shutil.copy(path, folder / f"given-{path.name}")
        whole = sorted(folder.iterdir())
        alone, _ = indexed(folder, Path(temporary, "alone"))
        damage(whole, folder)
        began = time.perf_counter()
        beside, skipped = indexed(folder, Path(temporary, "beside"))
        seconds = time.perf_counter() - began
        names = {path.name for path in whole}
        lost = [name for name in names if not beside[name].passages or beside[name] != alone[name]]
        damaged = {path.name for path in folder.iterdir()} - names
        read = {name for name in damaged if name in beside and beside[name].passages}
        told = {Path(place).name for place, _ in skipped}
        for line in summarised(skipped):
            print(line.replace(f"{folder}/", ""))
    kinds = Counter(name.partition("-")[0] for name in damaged)
    print("\n| format | damaged | read | not read |\n|---|---|---|---|")
    for kind, count in sorted(kinds.items()):
        readable = sum(name.startswith(f"{kind}-") for name in read)
        print(f"| {kind} | {count} | {readable} | {count - readable} |")
    print(f"\n{len(damaged)} damaged files: {len(read)} read, {len(damaged - read)} not read")
    print(f"neither read nor told: {', '.join(sorted(damaged - read - told)) or 'none'}")
    print(f"of {len(names)} whole files beside them lost or changed: {', '.join(sorted(lost)) or 'none'}")
    print(f"crashes: {sum('crashed' in why for _, why in skipped)}")
    print(f"told in more than one line: {sum(len(why.splitlines()) > 1 for _, why in skipped)}")
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(f"{seconds:.1f} s, peak memory of a process {peak / 1024:,.0f} MiB")


if __name__ == "__main__":
    main()
