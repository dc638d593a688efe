"""Measure the answers to questions that want yes or no.

    python benchmarks/yes_no.py own_documents/w3 own_documents/w4 benchmarks/verdicts/yesno.jsonl [--rqa "rqa"]

A folder has corpus/ and questions.jsonl: its questions of kind yes-no are asked over its index with the retriever bm25,
and so are those without an answer that want yes or no. A file has rows with text, question and label (yes, no,
neither); each is asked over its text alone. Printed: how many got an answer, in whole sentences or as yes or no,
and how many of these are right.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from robust_qa.kit import is_yes_no


def asked(path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Return rows for `rqa batch` and their golds: yes, no or neither."""
    file = path / "questions.jsonl" if path.is_dir() else path
    found = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    if not path.is_dir():
        rows = [{"question": row["question"], "passages": [{"text": row["text"]}]} for row in found]
        return rows, [row["label"] for row in found]
    kept = [
        row
        for row in found
        if row["kind"] == "yes-no" or (row["kind"] == "not-in-documents" and is_yes_no(row["question"]))
    ]
    golds = [row["answers"][0].lower() if row["kind"] == "yes-no" else "neither" for row in kept]
    return [{"question": row["question"]} for row in kept], golds


def answers(path: Path, rows: Sequence[dict[str, Any]], command: Sequence[str]) -> list[dict[str, Any]]:
    """Return the answer of each row."""
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "RQA_DATA_DIR": f"{folder}/data", "RQA_CACHE_DIR": f"{folder}/cache"}
        Path(folder, "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        retriever = ["-r", "bm25"] if path.is_dir() else []
        if retriever:
            subprocess.run([*command, "-q", "index", str(path / "corpus"), *retriever], env=env, check=True)
        batch = [*command, "-q", "batch", f"{folder}/in.jsonl", "-o", f"{folder}/out.jsonl", *retriever]
        subprocess.run(batch, env=env, check=True)
        return [json.loads(line) for line in Path(folder, "out.jsonl").read_text(encoding="utf-8").splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--rqa", default="rqa", help="the command to measure")
    options = parser.parse_args()
    for path in options.paths:
        rows, golds = asked(path)
        said = [(each.get("answer") or "").lower() for each in answers(path, rows, shlex.split(options.rqa))]
        pairs = [(text, gold) for text, gold in zip(said, golds, strict=True) if text and gold != "neither"]
        plain = [(text, gold) for text, gold in pairs if text in ("yes", "no")]
        refused = [not text for text, gold in zip(said, golds, strict=True) if gold == "neither"]
        print(f"{path}: {len(golds) - len(refused)} questions, {golds.count('no')} of them no; answered {len(pairs)},")
        print(f"  beginning with the gold {sum(text.startswith(gold) for text, gold in pairs)};")
        print(f"  yes or no {len(plain)}, right {sum(text == gold for text, gold in plain)};")
        print(f"  without an answer {len(refused)}, refused {sum(refused)}")


if __name__ == "__main__":
    main()
