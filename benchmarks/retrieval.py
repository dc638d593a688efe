"""Measure retrieval alone: how often the passage with the evidence is among the first 1, 3 and 10.

    python benchmarks/retrieval.py FOLDER... --out after.jsonl
    python benchmarks/retrieval.py FOLDER... --before before.jsonl

A folder has corpus/ and questions.jsonl. A row has `id`, `question`, `evidence` and optionally `language`. Rows without
`evidence` are not asked. A passage has the evidence if it has 60 % of its words. SQLite's FTS5 with Porter's stemmer
searches the same passages. `--embedder e5` takes the vectors of multilingual-e5-small, which the extra `languages`
brings. The interval (95 %) is Wilson's. Differences from the file `--before` are paired, and their interval (95 %) is
from 10,000 resamples of the questions.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sqlite3
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from resampling import paired_interval

from robust_qa import EmbedderHandle, Passage
from robust_qa.kit import with_title
from robust_qa.testing import embedder_handle
from rqa_bm25 import Bm25, Hybrid
from rqa_e5 import E5
from rqa_embedded import EmbeddedEmbedder
from rqa_eval.estimates import wilson

DEPTHS = (1, 3, 10)
RETRIEVERS = ("fts5", "bm25", "hybrid")
Texts = Callable[[str], list[str]]


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", re.sub(r"<[^>]+>", " ", text).lower()))


def rank(texts: Iterable[str], evidence: list[Counter[str]]) -> int:
    """Return the rank of the first text with the evidence, 0 if there is none."""
    for number, text in enumerate(texts, start=1):
        have = words(text)
        if any((have & wanted).total() >= 0.6 * wanted.total() for wanted in evidence):
            return number
    return 0


def fts5(passages: Iterable[str]) -> Texts:
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE p USING fts5(text, tokenize='porter')")
    database.executemany("INSERT INTO p VALUES (?)", ((text,) for text in passages))

    def search(question: str) -> list[str]:
        query = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question))
        return [
            text for (text,) in database.execute("SELECT text FROM p WHERE p MATCH ? ORDER BY rank LIMIT 10", (query,))
        ]

    return search


def texts(passages: list[Passage]) -> list[str]:
    return [with_title(passage.title, passage.text) for passage in passages]


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    return map(json.loads, path.read_text(encoding="utf-8").splitlines())


def measure(folder: Path, names: list[str], embedder: EmbedderHandle) -> Iterator[dict[str, Any]]:
    """Yield the ranks of each question with evidence, by retriever."""
    with tempfile.TemporaryDirectory() as place, closing(asyncio.new_event_loop()) as loop:
        bm25 = Bm25(Bm25.Options(index=Path(place)))
        hybrid = Hybrid(Hybrid.Options(index=Path(place)), embedder=embedder)
        began = time.perf_counter()
        report = bm25.index([folder / "corpus"])
        seconds = time.perf_counter() - began
        print(f"{folder.name}: {report.passages} passages, {report.passages / seconds:.0f} a second without vectors")
        if "hybrid" in names:
            loop.run_until_complete(hybrid.index([folder / "corpus"]))  # type: ignore[arg-type]
        stored = [text for batch in bm25._index.batches(1000) for text in batch.values()]
        searches: dict[str, Texts] = {
            "fts5": fts5(stored),
            "bm25": lambda question: texts(bm25.retrieve(question, DEPTHS[-1])),
            "hybrid": lambda question: texts(loop.run_until_complete(hybrid.retrieve(question, DEPTHS[-1]))),
        }
        for row in rows_of(folder / "questions.jsonl"):
            evidence = [words(row[name]) for name in ("evidence", "evidence_text", "evidence2") if row.get(name)]
            if evidence:
                asked = {"id": row["id"], "folder": folder.name}
                if "language" in row:
                    asked["language"] = f"{row['language']}, asked in {row['question_language']}"
                yield asked | {name: rank(searches[name](row["question"]), evidence) for name in names}


def show(name: str, rows: list[dict[str, Any]], before: dict[str, dict[str, Any]]) -> None:
    for retriever in RETRIEVERS:
        if retriever not in rows[0]:
            continue
        cells = []
        for depth in DEPTHS:
            hits = np.array([0 < row[retriever] <= depth for row in rows], float)
            low, high = wilson(hits)
            cell = f"{hits.mean():.3f} ({low:.2f} to {high:.2f})"
            if before:
                difference = hits - np.array([0 < before[row["id"]][retriever] <= depth for row in rows], float)
                low, high = paired_interval(difference)
                cell += f" {difference.mean():+.3f} ({low:+.3f} to {high:+.3f})"
            cells.append(f"@{depth} {cell}")
        print(f"{name} ({len(rows)}) {retriever:6}  {'  '.join(cells)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--retrievers", nargs="+", choices=RETRIEVERS, default=list(RETRIEVERS))
    parser.add_argument("--out", type=Path, help="add the ranks of each question to this file")
    parser.add_argument("--before", type=Path, help="a file that --out wrote, to compare with")
    parser.add_argument("--embedder", choices=("embedded", "e5"), default="embedded")
    given = parser.parse_args()
    before = {row["id"]: row for row in rows_of(given.before)} if given.before else {}
    component = E5(E5.Options()) if given.embedder == "e5" else EmbeddedEmbedder(EmbeddedEmbedder.Options())
    embedder = embedder_handle(component)
    for folder in given.folders:
        rows = list(measure(folder, given.retrievers, embedder))
        if given.out:
            with given.out.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(row) + "\n" for row in rows)
        show(folder.name, rows, before)
        languages = defaultdict(list)
        for row in rows:
            if "language" in row:
                languages[row["language"]].append(row)
        for language, found in sorted(languages.items()):
            show(f"  {language}", found, before)


if __name__ == "__main__":
    main()
