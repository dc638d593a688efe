"""Measure the peak memory of `rqa batch` over 10,000 and over 1,000,000 lines.

    python benchmarks/memory.py [--rows 10000 1000000]

Rows are short questions with one passage each. Strategy `rag` with the reader `lexical` answers them in order, into a
file. The last line is the ratio of the peaks of resident memory.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

RQA = "from robust_qa.main import main; main()"


def peak(rows: int, folder: Path) -> float:
    """Return the peak resident memory in MiB of a batch with this many rows."""
    source = folder / "rows.jsonl"
    with source.open("w") as file:
        for n in range(rows):
            passage = f"The capital of country {n} is city {n % 1000}."
            file.write(f'{{"id": {n}, "question": "What is the capital of country {n}?", "passages": ["{passage}"]}}\n')
    arguments = ["-q", "batch", str(source), "-o", str(folder / "out.jsonl"), "--force", "-s", "rag"]
    command = [sys.executable, "-c", RQA, *arguments, "--reader", "lexical"]
    began = time.perf_counter()
    _, status, usage = os.wait4(os.posix_spawn(sys.executable, command, os.environ), 0)
    seconds = time.perf_counter() - began
    assert status == 0, f"rqa batch ended with status {status}"
    in_kib = sys.platform != "darwin"
    mib = usage.ru_maxrss / 1024 / (1 if in_kib else 1024)
    print(f"{rows} lines: {mib:.1f} MiB, {seconds:.1f} s", flush=True)
    return mib


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs=2, default=[10_000, 1_000_000])
    few, many = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as folder:
        least, most = peak(few, Path(folder)), peak(many, Path(folder))
    print(f"ratio {most / least:.3f}")


if __name__ == "__main__":
    main()
