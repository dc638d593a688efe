"""Score strategies on RAMDocs, whose questions have several right answers, planted wrong ones and noise.

    python benchmarks/ramdocs.py ramdocs.jsonl score_ramdocs.py [--strategies rag,corroborate,consensus,eor]

The passages of each question are shuffled, since in the published file the right ones come first. `rqa batch` answers
from them with the reader `embedded` and default options, and the scorer prints a line: answered, of these right and
false, complete (every right answer told) and strict (and no wrong one).
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path


def main() -> None:
    """Print the figures of each strategy."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", type=Path)
    parser.add_argument("scorer", type=Path, help="a script that is given answers and questions")
    parser.add_argument("--strategies", default="rag,corroborate,consensus,eor")
    given = parser.parse_args()
    rows = [json.loads(line) for line in given.questions.read_text("utf-8").splitlines()]
    order = random.Random(0)
    for row in rows:
        order.shuffle(row["passages"])
    with tempfile.TemporaryDirectory() as folder:
        shuffled = Path(folder, "questions.jsonl")
        shuffled.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        batch = [sys.executable, "-m", "robust_qa", "-q", "batch", str(shuffled), "--reader", "embedded"]
        for strategy in given.strategies.split(","):
            answers = f"{folder}/{strategy}.jsonl"
            subprocess.run([*batch, "-s", strategy, "-o", answers], check=True)
            print(strategy, end=": ", flush=True)
            subprocess.run([sys.executable, str(given.scorer), answers, str(given.questions)], check=True)


if __name__ == "__main__":
    main()
