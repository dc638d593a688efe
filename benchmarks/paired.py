"""Compare the accuracy of two outputs of `rqa batch` over the same questions, row by row.

    python benchmarks/paired.py QUESTIONS.jsonl BEFORE.jsonl AFTER.jsonl

A row is right if its answer contains a gold answer. The interval (95 %) is from 10,000 resamples of the rows.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from resampling import paired_interval

from robust_qa.kit import contains_answer, gold_facts


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("questions", "before", "after"):
        parser.add_argument(name, type=Path)
    given = parser.parse_args()
    gold = [[answer for fact in gold_facts(row["answers"]) for answer in fact] for row in rows_of(given.questions)]
    right = np.array(
        [
            [
                contains_answer(row.get("answer") or "", answers)
                for row, answers in zip(rows_of(path), gold, strict=True)
            ]
            for path in (given.before, given.after)
        ],
        dtype=float,
    )
    differences = right[1] - right[0]
    low, high = paired_interval(differences)
    before, after = 100 * right.mean(1)
    print(
        f"{given.questions.stem}: {before:.1f} -> {after:.1f}, difference {100 * differences.mean():+.1f} "
        f"({100 * low:+.1f} to {100 * high:+.1f}), {len(gold)} rows"
    )


if __name__ == "__main__":
    main()
