"""Planted passages: strategy `consensus`, or another, against `rag` on RealTimeQA and RGB, without a language model.

    python benchmarks/planted.py realtimeqa.jsonl rgb_counterfactual.jsonl --strategy corroborate [--forced]

The reader is `embedded`, with its own threshold or (`--forced`) 0; all other options have their defaults. RealTimeQA:
the first ten passages of a question, of which 0, 20, 40 and 60 % are replaced by the set's poisoned passages. RGB: its
first three, of which as many are replaced by their counterfactual versions. Printed for each set and for both, at each
share: the accuracy, the false answers and the refusals of both strategies, and the paired differences (strategy - rag)
with 95 % intervals (Newcombe) and p (McNemar's exact test).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rqa_eval.estimates import estimate

SHARES = ("0", "0.2", "0.4", "0.6")
METRICS = ("accuracy", "attack-success", "refusal")
PASSAGES = 10
FIRST = 3  # passages of RGB


def run(rows: Path, attack: str, strategy: str, folder: Path, *, forced: bool) -> list[dict[str, Any]]:
    """Return the scores of each question under each condition."""
    command = [
        sys.executable,
        "-m",
        "robust_qa",
        "-q",
        "eval",
        str(rows),
        "-s",
        f"rag,{strategy}",
        "-k",
        str(PASSAGES),
    ]
    command += ["--attack", attack, "--rate", ",".join(SHARES), "-o", str(folder)]
    command += ["--reader", "embedded", *(["-O", "reader.embedded.threshold=0"] if forced else [])]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return [json.loads(line) for line in (folder / "scores.jsonl").read_text("utf-8").splitlines()]


def shortened(rows: Path, into: Path) -> Path:
    """Write the rows with the first passages and their counterfactual versions only."""
    lines = []
    for line in rows.read_text("utf-8").splitlines():
        row = json.loads(line)
        cut = {name: row[name][:FIRST] for name in ("passages", "counterfactual_passages")}
        lines.append(json.dumps(row | cut) + "\n")
    into.write_text("".join(lines), "utf-8")
    return into


def table(name: str, strategy: str, scores: list[dict[str, Any]]) -> None:
    """Print the figures of a set."""
    print(f"\n{name}, {len(scores) // len(SHARES)} questions: rag, {strategy}, difference [interval], p")
    for share in SHARES:
        under = [one["scores"] for one in scores if one["condition"].endswith(f" {share}")]
        cells = []
        for metric in METRICS:
            columns = {name: [one[name][metric] for one in under] for name in ("rag", strategy)}
            if all(value is None for value in columns["rag"]):
                continue  # nothing is planted
            found = estimate(columns, {strategy: "rag"})
            gap = found[strategy].difference
            assert gap is not None
            low, high = (100 * (bound or 0) for bound in (gap.low, gap.high))
            means = [100 * (found[name].value or 0) for name in ("rag", strategy)]
            cells.append(
                f"{metric} {means[0]:.0f}, {means[1]:.0f}, {means[1] - means[0]:+.0f} [{low:+.0f}, {high:+.0f}], "
                f"p {gap.p:.2g}"
            )
        print(f"  {share}: " + "; ".join(cells))


def main() -> None:
    """Print the figures of both sets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("realtimeqa", type=Path)
    parser.add_argument("rgb", type=Path)
    parser.add_argument("--strategy", default="corroborate")
    parser.add_argument("--forced", action="store_true", help="answer always")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        realtime, rgb = (
            run(rows, attack, given.strategy, folder / attack, forced=given.forced)
            for rows, attack in (
                (given.realtimeqa, "poison"),
                (shortened(given.rgb, folder / "rgb.jsonl"), "counterfactual"),
            )
        )
    for title, scores in (("RealTimeQA", realtime), ("RGB", rgb), ("both", realtime + rgb)):
        table(title, given.strategy, scores)


if __name__ == "__main__":
    main()
