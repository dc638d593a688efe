"""Measure how often the quotes of `rqa` show the evidence in unprepared documents.

    python benchmarks/documents.py CORPUS QUESTIONS.jsonl

A row has `id`, `question`, `doc` (a path in CORPUS) and `evidence`. Without `evidence` the documents do not contain the
answer. A quote shows the evidence if it has 60 % of its words. `rqa index` and `rqa batch` run with defaults, except
for the retriever. An answer is right if it has a gold answer as whole words. Nothing is fitted here, so no folds are
needed. The worst folder with ten questions shows the spread.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from robust_qa.kit import contains_words

RQA = [sys.executable, "-c", "from robust_qa.main import main; main()", "-q"]
RETRIEVERS = {"bm25": [], "dense": ["-O", "retriever.hybrid.mode=dense"], "hybrid": []}
LEAST = 10  # questions of a folder that may count as the worst


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text.lower()))


def shows(quote: str, evidence: str) -> bool:
    wanted = words(evidence)
    return sum((words(quote) & wanted).values()) >= 0.6 * sum(wanted.values())


def shown(question: dict[str, Any], row: dict[str, Any], k: int) -> bool:
    quotes = [each["quote"] for each in [*row.get("citations", []), *row.get("closest", [])]][:k]
    evidence = [question[name] for name in ("evidence", "evidence_text", "evidence2") if question.get(name)]
    return any(shows(quote, each) for quote in quotes for each in evidence)


def is_right(question: dict[str, Any], answer: str) -> bool:
    """Whether the answer has a gold answer as whole words, or all that the row asks for."""
    groups = question.get("answers_each") or question.get("parts")
    if groups is None and question.get("all_required"):
        groups = question["answers"]
    if groups is None:
        groups = [question["answers"]]
    wordings = [[group] if isinstance(group, str) else group for group in groups]
    return all(any(contains_words(wording, answer) for wording in group) for group in wordings)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--retrievers", nargs="+", choices=RETRIEVERS, default=list(RETRIEVERS))
    given = parser.parse_args()
    questions = [json.loads(line) for line in given.questions.read_text(encoding="utf-8").splitlines()]
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "RQA_DATA_DIR": folder, "RQA_CACHE_DIR": f"{folder}/cache"}
        began = time.perf_counter()
        subprocess.run([*RQA, "index", str(given.corpus)], env=environment, check=True)
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
        print(f"indexed in {time.perf_counter() - began:.1f} s, {size / 1e6:.1f} MB")
        for name in given.retrievers:
            options = RETRIEVERS[name]
            out = Path(folder) / f"{name}.jsonl"
            retriever = "bm25" if name == "bm25" else "hybrid"
            command = [*RQA, "batch", str(given.questions), "-s", "rag", "-r", retriever, *options, "-o", str(out)]
            subprocess.run(command, env=environment, check=True)
            rows = {row["id"]: row for row in map(json.loads, out.read_text(encoding="utf-8").splitlines())}
            report(name, questions, rows)


def report(name: str, questions: list[dict[str, Any]], rows: dict[str, dict[str, Any]]) -> None:
    answerable = [question for question in questions if question.get("evidence")]
    folders = defaultdict(list)
    for question in answerable:
        folders[question["doc"].partition("/")[0]].append(question)
    for k in (1, 3):
        hits = {question["id"]: shown(question, rows[question["id"]], k) for question in answerable}
        shares = {
            each: sum(hits[question["id"]] for question in found) / len(found)
            for each, found in folders.items()
            if len(found) >= LEAST
        }
        worst = min(shares, key=shares.__getitem__, default="")
        print(
            f"{name}: shown@{k} {sum(hits.values()) / len(hits):.3f} of {len(hits)}"
            + (f"; worst folder {worst} {shares[worst]:.2f}" if worst else "")
        )
    asserted = [question for question in questions if rows[question["id"]].get("answer") is not None]
    right = sum(is_right(question, rows[question["id"]]["answer"]) for question in asserted)
    print(f"{name}: asserted {len(asserted)} of {len(rows)}, {right} of these right")


if __name__ == "__main__":
    main()
