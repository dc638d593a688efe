"""Measure the overhead of `rqa batch` over its model calls.

    python benchmarks/throughput.py [--seconds 20]

Prints rows a second with a loopback endpoint that answers at once. Then, with 200 ms latency and 64 questions in
flight, prints the wall time of the whole process relative to the ideal (calls x latency / in flight), for as many rows
as ideally take that many seconds. Start-up is a run of one row.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from endpoint import calls, running

RQA = [sys.executable, "-c", "from robust_qa.main import main; main()"]
LATENCY, JOBS = 0.2, 64  # seconds; questions in flight
CALLS = {"rag": 1, "astute": 2}  # successive calls for a question


def write_rows(path: Path, rows: int) -> None:
    """Write distinct questions, each with five passages of 100 words."""
    text = " ".join(f"word{n % 37}" for n in range(100))
    with path.open("w") as file:
        for n in range(rows):
            passages = [{"title": f"Page {k}", "text": f"{text} {n}."} for k in range(5)]
            file.write(json.dumps({"id": n, "question": f"What is number {n}?", "passages": passages}) + "\n")


def run(strategy: str, rows: Path, url: str) -> float:
    """Return the seconds of one batch in a process."""
    settings = {"plugin": "openai", "base_url": url, "model": "benchmark"}
    options = [part for key, value in settings.items() for part in ("-O", f"reader.bench.{key}={value}")]
    command = [*RQA, "-q", "batch", str(rows), "-s", strategy, "--reader", "bench", "--no-cache"]
    began = time.perf_counter()
    subprocess.run([*command, *options, "-j", str(JOBS), "-o", os.devnull], check=True)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20)
    seconds_wanted = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as folder:
        rows, one = Path(folder) / "rows.jsonl", Path(folder) / "one.jsonl"
        write_rows(one, 1)
        for strategy, per_row in CALLS.items():
            count = round(seconds_wanted * JOBS / LATENCY / per_row)
            write_rows(rows, count)
            for latency in (0.0, LATENCY):
                with running(latency) as url:
                    start_up = run(strategy, one, url) - per_row * latency
                    seconds = run(strategy, rows, url)
                    made = calls(url) - per_row
                assert made == count * per_row, f"{made} calls"
                print(
                    f"{strategy}, {latency * 1000:.0f} ms: {count} rows, {made} calls in {seconds:.2f} s "
                    f"({start_up:.2f} s start-up): {count / (seconds - start_up):.0f} rows/s",
                    end="",
                )
                ideal = made * latency / JOBS
                print(f"; {seconds / ideal:.3f} of the ideal {ideal:.2f} s" if ideal else "", flush=True)


if __name__ == "__main__":
    main()
