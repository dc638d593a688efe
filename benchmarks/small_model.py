"""Strategies with a small language model on RGB and RealTimeQA, with and without planted passages.

    python benchmarks/small_model.py rgb_counterfactual.jsonl realtimeqa.jsonl RUN rag,norag,consensus

The first ten questions of each set with at least five passages, of which the first five are read; 0 and 40 % of them
are replaced by the set's counterfactual or poisoned passages. The reader is that of the file rqa.toml in
the folder RUN. Strategies are run one after the other, and a run that was interrupted goes on. Printed by `rqa eval`:
right, wrong and unanswered, the false answer, calls and tokens, with intervals and differences from `rag`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from robust_qa.errors import Exit

ROWS, PASSAGES = 10, 5
METRICS = "accuracy,wrong,unanswered,attack-success,calls,tokens"


def prepared(rows: Path, pool: str, into: Path) -> Path:
    """Write the first questions with their first passages."""
    lines: list[str] = []
    for row in map(json.loads, rows.read_text("utf-8").splitlines()):
        if len(row["passages"]) >= PASSAGES and len(lines) < ROWS:
            cut = {name: row[name][:PASSAGES] for name in ("passages", pool)}
            lines.append(json.dumps(row | cut) + "\n")
    into.write_text("".join(lines), "utf-8")
    return into


def main() -> None:
    """Run the strategies on both sets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rgb", type=Path)
    parser.add_argument("realtimeqa", type=Path)
    parser.add_argument("run", type=Path)
    parser.add_argument("strategies")
    given = parser.parse_args()
    names = given.strategies.split(",")
    for rows, pool, attack in (
        (given.rgb, "counterfactual_passages", "counterfactual"),
        (given.realtimeqa, "poisoned_passages", "poison"),
    ):
        data = prepared(rows, pool, given.run / rows.name)
        command = [sys.executable, "-m", "robust_qa", "--config", str(given.run / "rqa.toml"), "eval", str(data)]
        command += ["--attack", attack, "--rate", "0,0.4", "-k", str(PASSAGES), "-j", "1", "--baseline", "rag"]
        command += ["--metrics", METRICS, "-o", str(given.run / rows.stem), "--resume"]
        for count in range(1, len(names) + 1):
            ran = subprocess.run([*command, "-s", ",".join(names[:count])], check=False)
            if ran.returncode not in (Exit.ANSWERED, Exit.ROWS_FAILED):
                sys.exit(ran.returncode)


if __name__ == "__main__":
    main()
