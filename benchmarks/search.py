"""Measure `rqa search` as a new process over an index of 3,000 passages, beside `python -c "import click"`.

    python benchmarks/search.py [--runs 20] [--passages 3000]

Prints medians of runs that take turns, so other work on the machine slows all of them: the processor time of the
process, and the wall time. `hybrid` also loads the packaged embedder. The documents are made of random words.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BASELINE = [sys.executable, "-c", "import click"]
RQA = [sys.executable, "-m", "robust_qa"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--passages", type=int, default=3000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment |= {f"RQA_{name}_DIR": f"{folder}/{name}" for name in ("CONFIG", "DATA", "CACHE")}
        notes = Path(folder, "notes")
        notes.mkdir()
        chance = random.Random(0)
        words = ["".join(chance.choices("abcdefghiklmnoprstu", k=chance.randint(3, 9))) for _ in range(20_000)]
        for number in range(options.passages // 10):
            paragraphs = [f"{' '.join(chance.choices(words, k=90)).capitalize()}." for _ in range(10)]
            Path(notes, f"{number}.md").write_text("\n\n".join(paragraphs))

        def seconds(command: list[str]) -> tuple[float, float]:
            began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, env=environment, cwd=folder, stdout=subprocess.DEVNULL, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            return busy, time.perf_counter() - began

        subprocess.run([*RQA, "index", str(notes)], env=environment, cwd=folder, check=True)
        asked = " ".join(words[:4])
        commands = {
            'python -c "import click"': BASELINE,
            "rqa search -r bm25": [*RQA, "search", "-r", "bm25", asked],
            "rqa search": [*RQA, "search", asked],
        }
        for command in commands.values():
            seconds(command)  # writes the compiled modules
        taken = [{name: seconds(command) for name, command in commands.items()} for _ in range(options.runs)]
    for name in commands:
        busy, wall = (statistics.median(each[name][n] for each in taken) * 1000 for n in (0, 1))
        print(f"{name}: {busy:.0f} ms of processor time, {wall:.0f} ms")


if __name__ == "__main__":
    main()
