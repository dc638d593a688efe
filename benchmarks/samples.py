"""Rebuild the samples of the scoreboard in benchmarks/data from the whole sets.

    python benchmarks/samples.py DATA

DATA holds documents/, eval/, questions/train and claims/train. A sample is drawn by SEED alone, from
rows that no weights in the package learnt from, and over documents whose licence permits their redistribution. A file
has a line for each document, then one for each question or claim.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from reader_rows.questions import report_of
from rqa_train.reader.documents import DocumentQuestion

SEED = 2026
DATA = Path(__file__).with_name("data")
# Under the GPL, under a licence of its own, or under none that is stated.
LEFT_OUT = {"bayestestr", "infinitime", "debian-history", "us-constitution", "sourcegraph-handbook", "debian"}
WORDS = 120  # of a passage of a contract or an article
TOLD = {"supported": "supported", "refuted": "contradicted"}  # the other labels are neither

Row = dict[str, Any]


def rows_of(path: Path) -> list[Row]:
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def held(group: str) -> bool:
    """Return whether models/judge and models/reader_rows keep the rows of a group from training."""
    return zlib.crc32(group.encode()) % 10 == 0


def drawn(rows: Iterable[Row], most: int) -> list[Row]:
    """Return up to `most` rows, in the order of the set."""
    found = list(rows)
    chosen = random.Random(SEED).sample(range(len(found)), min(most, len(found)))
    return [found[n] for n in sorted(chosen)]


def kept(path: str) -> bool:
    return not {path, path.partition("/")[0]} & LEFT_OUT


def corpus(folder: Path, prefix: str = "") -> Iterator[Row]:
    for path in sorted((folder / "corpus").rglob("*")):
        name = path.relative_to(folder / "corpus").as_posix()
        if path.is_file() and kept(name):
            yield {"document": prefix + name, "text": path.read_text("utf-8")}


def over_documents(rows: Iterable[tuple[Row, DocumentQuestion]], able: int, unable: int) -> Iterator[Row]:
    """Yield questions with an answer and questions without one, whose documents are all there."""
    found = [
        row
        for row, question in rows
        if kept(question.folder) and all(kept(row.get(each) or "") for each in ("doc", "doc2"))
    ]
    for some, most in (
        ([row for row in found if row["answers"]], able),
        ([r for r in found if not r["answers"]], unable),
    ):
        for row in drawn(some, most):
            yield {
                name: row[name]
                for name in ("id", "kind", *DocumentQuestion.__struct_fields__)
                if row.get(name) is not None
            }


def asked(row: Row) -> tuple[Row, DocumentQuestion]:
    return row, msgspec.convert(row, DocumentQuestion)


def unseen_documents(data: Path) -> Iterator[Row]:
    yield from corpus(data / "documents")
    yield from over_documents(map(asked, rows_of(data / "documents" / "questions.jsonl")), 80, 40)


def ramdocs(data: Path) -> Iterator[Row]:
    order = random.Random(SEED)
    for row in drawn(rows_of(data / "eval" / "ramdocs.jsonl"), 100):
        order.shuffle(row["passages"])  # the right ones come first in the set
        yield {name: row[name] for name in ("id", "question", "answers", "wrong_answers", "passages")}


def table(lines: list[str]) -> str:
    """Return cells as a Markdown table, whose first line is the head."""
    cells = [[cell.strip() for cell in line.split("|")] for line in lines]
    width = max(map(len, cells))
    whole = ["| " + " | ".join([*each, *[""] * (width - len(each))]) + " |" for each in cells]
    return "\n".join([whole[0], "|---" * width + "|", *whole[1:]])


def tatqa(data: Path) -> Iterator[Row]:
    rows = rows_of(data / "questions/train/tatqa.jsonl.gz")
    chosen = drawn((row for row in rows if held(report_of(row["context"]))), 80)
    names: dict[str, str] = {}
    for row in chosen:
        if row["context"] not in names:
            names[row["context"]] = f"report-{len(names) + 1}.md"
            lines = row["context"].split("\n")
            text = "\n\n".join(
                [table([line for line in lines if " | " in line]), *(line for line in lines if " | " not in line)]
            )
            yield {"document": names[row["context"]], "text": text}
    for row in chosen:
        asked = {"id": row["id"], "question": row["question"], "answers": row["answers"], "kind": row["kind"]}
        yield {**asked, "doc": names[row["context"]], "all_required": row["kind"] == "multi-span"}


def fairytaleqa(data: Path) -> Iterator[Row]:
    """Yield whole stories: the sections of all of their questions, in order."""
    rows = rows_of(data / "questions/train/fairytaleqa.jsonl.gz")
    chosen = drawn((row for row in rows if held(row["id"].partition("#")[0])), 80)
    stories: dict[str, dict[str, None]] = {row["id"].partition("#")[0]: {} for row in chosen}
    for row in rows:
        if (name := row["id"].partition("#")[0]) in stories:
            stories[name][" ".join(row["context"].split())] = None
    for name, sections in stories.items():
        yield {"document": f"{name}.txt", "text": "\n\n".join(sections)}
    for row in chosen:
        asked = {name: row[name] for name in ("id", "question", "answers", "kind")}
        yield {**asked, "doc": row["id"].partition("#")[0] + ".txt"}


def pubmedqa(data: Path) -> Iterator[Row]:
    chosen = drawn((row for row in rows_of(data / "questions/train/pubmedqa.jsonl.gz") if held(row["id"])), 80)
    for row in chosen:
        yield {"document": f"{row['id']}.txt", "text": "\n\n".join(row["context"].split("\n"))}
    for row in chosen:
        asked = {name: row[name] for name in ("id", "question", "answers")}
        yield {**asked, "doc": f"{row['id']}.txt", "kind": "yes-no"}


def packed(text: str) -> list[str]:
    """Return passages of whole lines with up to WORDS words."""
    found = [""]
    for line in filter(None, (" ".join(line.split()) for line in text.split("\n"))):
        if found[-1] and len(f"{found[-1]} {line}".split()) > WORDS:
            found.append("")
        found[-1] = f"{found[-1]} {line}".strip()
    return found


def claims(path: Path, group: str, most: int) -> Iterator[Row]:
    for number, row in enumerate(drawn((row for row in rows_of(path) if held(row[group])), most), start=1):
        label = TOLD.get(row["label"], "neither")
        yield {"id": number, "claim": row["claim"], "label": label, "passages": packed(row["premise"])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    data = parser.parse_args().data
    samples = {
        "unseen_documents": unseen_documents(data),
        "tatqa": tatqa(data),
        "fairytaleqa": fairytaleqa(data),
        "pubmedqa": pubmedqa(data),
        "ramdocs": ramdocs(data),
        "contractnli": claims(data / "claims/train/contract-nli.jsonl.gz", "doc", 200),
        "wice": claims(data / "claims/train/wice.jsonl.gz", "claim", 200),
    }
    for name, rows in samples.items():
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (DATA / f"{name}.jsonl.gz").write_bytes(gzip.compress(lines.encode(), 9, mtime=0))
        print(f"{name}: {lines.count(chr(10))} lines, {(DATA / f'{name}.jsonl.gz').stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
