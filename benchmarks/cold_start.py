"""Measure the wall time and peak memory of `rqa ask` with the embedded reader, from a cold start.

    python benchmarks/cold_start.py [--runs 10] [--reader embedded]

Indexes a corpus of 100 passages once. Each run is a new process that loads the model and answers from the index,
without the cache. The kernel counts the time and the peak resident memory of each process.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RQA = "import sys; sys.argv[0] = 'rqa'; from robust_qa.main import main; main()"
WORDS = "harbour keeper lamp granite tower engineer quarry barge cottage pilot ferry season storm channel".split()


def corpus(folder: Path, passages: int) -> None:
    """Return a text of about 100 words a passage. The twentieth passage has the answer."""
    rng = random.Random(1)
    for n in range(passages):
        text = " ".join(rng.choices(WORDS, k=95))
        told = "The lighthouse at Orrin was built in 1871 by Ingrid Valdane." if n == 20 else ""
        (folder / f"note-{n}.txt").write_text(f"{told} {text}.\n", encoding="utf-8")


def run(*arguments: str) -> tuple[float, float, str]:
    """Return seconds, peak megabytes and standard output of one `rqa`."""
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", RQA, *arguments], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"rqa {' '.join(arguments)} ended with {process.returncode}")
    return time.perf_counter() - began, usage.ru_maxrss / 1024, output


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--passages", type=int, default=100)
    parser.add_argument("--reader", default="embedded")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for name in ("CONFIG", "DATA", "CACHE"):
            os.environ[f"RQA_{name}_DIR"] = str(home / name.lower())
        (home / "notes").mkdir()
        corpus(home / "notes", given.passages)
        run("index", str(home / "notes"))
        asked = ["ask", "--no-cache", "--reader", given.reader, "Who built the lighthouse at Orrin?"]
        runs = [run(*asked) for _ in range(given.runs)]
    seconds, memory, answers = zip(*runs, strict=True)
    print(answers[0].strip())
    print(
        f"{given.passages} passages, reader {given.reader}, {given.runs} runs: "
        f"median {statistics.median(seconds):.2f} s (worst {max(seconds):.2f}), peak memory {max(memory):.0f} MiB"
    )


if __name__ == "__main__":
    main()
