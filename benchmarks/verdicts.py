"""Measure the verdicts of `rqa check` over claims with their evidence given.

    python benchmarks/verdicts.py SET.jsonl.gz ... [--rows 120] [--rqa "rqa"]

A row has a premise (or text), a claim and a label: supported, refuted or neutral. Each SET gives its first rows in an
order that a hash of the row decides. Printed for each set and for all: precision and recall of "supported" and
"contradicted", the share of contradicted claims that are called supported, and milliseconds a claim.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import shlex
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

LABELS = {
    "refuted": "contradicted",
    "neutral": "neither",
    "neither": "neither",
    "partially_supported": "neither",
    "not_supported": "neither",
    "entailment": "supported",
}


def rows_of(path: Path, most: int) -> Iterator[dict[str, Any]]:
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    rows.sort(
        key=lambda row: hashlib.sha256(repr((row.get("text", row.get("premise")), row["claim"])).encode()).digest()
    )
    for row in rows[:most] if most else rows:
        yield {
            "set": path.name.split(".")[0],
            "label": LABELS.get(row["label"], row["label"]),
            "answer": " ".join(row["claim"].split()),
            "passages": [{"text": row.get("text", row.get("premise")), "title": row.get("title", "")}],
        }


def checked(rows: Sequence[dict[str, Any]], command: Sequence[str]) -> tuple[list[str], float]:
    """Return the verdict of each row, and the seconds of the command."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "rows.jsonl")
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        began = time.perf_counter()
        run = subprocess.run(
            [*command, "check", "-f", str(file), "--no-cache"], capture_output=True, text=True, check=False
        )
        took = time.perf_counter() - began
    found = []
    for line in run.stdout.splitlines():
        verdicts = [each["verdict"] for each in json.loads(line).get("sentences", ())]
        # A claim of several sentences is contradicted if one is, and supported if all are.
        found.append(
            "contradicted" if {"contradicted", "disputed"} & {*verdicts}
            else "supported" if verdicts and {*verdicts} == {"supported"} else "neither"
        )  # fmt: skip
    if len(found) != len(rows):
        sys.exit(f"{len(found)} verdicts for {len(rows)} rows: {run.stderr[-500:]}")
    return found, took


def line(name: str, wanted: Sequence[str], found: Sequence[str]) -> str:
    pairs = Counter(zip(wanted, found, strict=True))
    parts = [f"{name:16} n={len(wanted):4}"]
    for label in ("supported", "contradicted"):
        right, said = pairs[label, label], sum(found_label == label for found_label in found)
        true = sum(label == each for each in wanted)
        precision, recall = right / max(1, said), right / max(1, true)
        parts.append(f"{label}: right {right}/{said} = {precision:.2f}, found {right}/{true} = {recall:.2f}")
    refuted = sum(each == "contradicted" for each in wanted)
    parts.append(f"contradicted called supported {pairs['contradicted', 'supported']}/{refuted}")
    return "; ".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path)
    parser.add_argument("--rows", type=int, default=120, help="of each set; 0: all")
    parser.add_argument("--rqa", default="rqa", help="the command to measure")
    options = parser.parse_args()
    rows = [row for path in options.sets for row in rows_of(path, options.rows)]
    found, took = checked(rows, shlex.split(options.rqa))
    for name in dict.fromkeys(row["set"] for row in rows):
        chosen = [n for n, row in enumerate(rows) if row["set"] == name]
        print(line(name, [rows[n]["label"] for n in chosen], [found[n] for n in chosen]))
    print(line("all", [row["label"] for row in rows], found))
    print(f"{1000 * took / len(rows):.0f} ms a claim, start-up included")


if __name__ == "__main__":
    main()
