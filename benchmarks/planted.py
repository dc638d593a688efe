"""Planted passages: strategies against `rag` where 0 to 60 % of the passages are false.

    python benchmarks/planted.py realtimeqa.jsonl rgb_counterfactual.jsonl popqa.jsonl triviaqa.jsonl [--forced]
    python benchmarks/planted.py rgb_counterfactual.jsonl --config rqa.toml --questions 20 --strategies rag,cascade

The reader is `embedded`, with its own threshold or (`--forced`, only `rag`) 0, or that of the configuration; all
other options have their defaults. 50 questions of each set: a set with `poisoned_passages` has its first ten
passages, some replaced by these; one with `counterfactual_passages` its first three, some replaced by their versions.
Of other sets the first questions with a gold answer in three passages or more of the first five count, where another
answer of the set replaces the gold one.

Printed for each set and for all, at each share: right, wrong and no answer, the wrong ones without a word of doubt,
and the answers that are the planted one, in percent; below, the differences from `rag` with 95 % intervals (Newcombe)
and p (McNemar's exact test).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from robust_qa.kit import contains_answer, gold_facts
from rqa_eval.estimates import estimate

SHARES = ("0", "0.2", "0.4", "0.6")
METRICS = ("accuracy", "wrong", "unanswered", "unmarked", "attack-success")
STRATEGIES = "rag,corroborate,consensus,eor"
LEAST = 3  # passages with a gold answer


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the questions of a set with the passages that count."""
    for row in map(json.loads, path.read_text("utf-8").splitlines()):
        count = 10 if "poisoned_passages" in row else 3 if "counterfactual_passages" in row else 5
        for name in {"passages", "counterfactual_passages"} & row.keys():
            row[name] = row[name][:count]
        gold = gold_facts(row["answers"])[0]
        golds = [contains_answer(passage["text"], gold) for passage in row["passages"]]
        if count != 5 or sum(golds) >= LEAST:
            yield row


def run(path: Path, strategies: str, folder: Path, given: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the scores of each question of a set under each condition."""
    rows = list(rows_of(path))[: given.questions]
    data = folder / path.name
    data.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    attack = "poison" if "poisoned_passages" in rows[0] else "counterfactual"
    command = [sys.executable, "-m", "robust_qa", *(["--config", given.config] if given.config else [])]
    command += ["-q", "eval", str(data), "-s", strategies, "-k", "10", "-o", str(folder / path.stem)]
    command += ["--attack", attack, "--rate", ",".join(SHARES), *([] if given.config else ["--reader", "embedded"])]
    command += ["-O", "reader.embedded.threshold=0"] if given.forced else []
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return [json.loads(line) for line in (folder / path.stem / "scores.jsonl").read_text("utf-8").splitlines()]


def show(title: str, strategies: list[str], scores: list[dict[str, Any]]) -> None:
    """Print the figures of a set."""
    print(f"\n{title}, {len(scores) // len(SHARES)} questions: right, wrong, no answer, unmarked; false", flush=True)
    for share in SHARES:
        under = [one["scores"] for one in scores if one["condition"].endswith(f" {share}")]
        columns = {(name, metric): [one[name][metric] for one in under] for name in strategies for metric in METRICS}
        found = estimate(columns, {key: ("rag", key[1]) for key in columns if key[0] != "rag"})
        for name in strategies:
            *whole, false = (found[name, metric] for metric in METRICS)
            means = ", ".join(f"{100 * (one.value or 0):.1f}" for one in whole)
            planted = "-" if false.value is None else f"{100 * false.value:.1f} of {false.rows}"
            print(f"  {share:4} {name:12} {means}; {planted}", flush=True)
        for (name, metric), one in found.items():
            if metric in ("accuracy", "attack-success") and (gap := one.difference) and gap.value is not None:
                low, high = (100 * (bound or 0) for bound in (gap.low, gap.high))
                print(f"       {name} {metric} {100 * gap.value:+.1f} ({low:+.1f} to {high:+.1f}), p {gap.p:.2g}")


def main() -> None:
    """Print the figures of each set and of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path)
    parser.add_argument("--strategies", default=STRATEGIES, help="separated by commas, with rag")
    parser.add_argument("--forced", action="store_true", help="only rag, which always answers")
    parser.add_argument("--questions", type=int, default=50, help="of each set")
    parser.add_argument("--config", help="a configuration with a language model as the reader")
    given = parser.parse_args()
    strategies, every = "rag" if given.forced else given.strategies, []
    with tempfile.TemporaryDirectory() as folder:
        for path in given.sets:
            scores = run(path, strategies, Path(folder), given)
            show(path.stem, strategies.split(","), scores)
            every += scores
    show("all", strategies.split(","), every)


if __name__ == "__main__":
    main()
