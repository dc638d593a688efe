"""Measure what `rqa batch` adds to the calls of a model, beside a program on LangGraph that makes the same calls.

    python benchmarks/calls.py [--rows 4000] [--langgraph PYTHON]

Both make two calls in turn for each question (strategy `astute`), with 64 questions in flight, to a loopback endpoint
in a process of its own that answers at once. They take turns, and the time of a run of one row is subtracted.
LangGraph's program requests no schema, parses nothing and cites nothing. PYTHON has langgraph and langchain-openai:

    python -m venv peer && peer/bin/pip install langgraph langchain-openai
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from endpoint import calls, running

RQA = [sys.executable, "-c", "from robust_qa.main import main; main()"]
JOBS, CALLS, ROUNDS = 64, 2, 3  # questions in flight, calls for a question, alternations


def write_rows(path: Path, rows: int) -> None:
    """Write distinct questions, each with five passages of 100 words."""
    text = " ".join(f"word{n % 37}" for n in range(100))
    with path.open("w") as file:
        for n in range(rows):
            passages = [{"title": f"Page {k}", "text": f"{text} {n}."} for k in range(5)]
            file.write(json.dumps({"id": n, "question": f"What is number {n}?", "passages": passages}) + "\n")


def command(system: str, python: str, rows: Path, url: str) -> list[str]:
    if system == "langgraph":
        return [python, str(Path(__file__).with_name("peer_langgraph.py")), str(rows), url, str(JOBS), os.devnull]
    settings = {"plugin": "openai", "base_url": url, "model": "benchmark"}
    options = [part for key, value in settings.items() for part in ("-O", f"reader.bench.{key}={value}")]
    batch = [*RQA, "-q", "batch", str(rows), "-s", "astute", "--reader", "bench", "--no-cache"]
    return [*batch, *options, "-j", str(JOBS), "-o", os.devnull]


def spent(arguments: list[str]) -> tuple[float, float]:
    """Return wall and processor seconds of a process."""
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(arguments, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - began, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(count: int, python: str | None) -> dict[str, dict[str, float]]:
    """Return medians of rqa, and of LangGraph if `python` is given: questions a second, processor ms a call."""
    found: dict[str, list[tuple[float, float]]] = {"rqa": [], **({"langgraph": []} if python else {})}
    with tempfile.TemporaryDirectory() as folder, running() as url:
        rows, one = Path(folder, "rows.jsonl"), Path(folder, "one.jsonl")
        write_rows(one, 1)
        write_rows(rows, count)
        for _ in range(ROUNDS):
            for system, own in found.items():
                start_up, idle = spent(command(system, python or "", one, url))
                before = calls(url)
                seconds, busy = spent(command(system, python or "", rows, url))
                assert calls(url) - before == count * CALLS, "not two calls for each question"
                own.append((count / (seconds - start_up), (busy - idle) / count / CALLS * 1000))
    names = "questions_a_second", "milliseconds_a_call"
    return {
        system: dict(zip(names, map(statistics.median, zip(*own, strict=True)), strict=True))
        for system, own in found.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--langgraph", metavar="PYTHON")
    given = parser.parse_args()
    print(json.dumps(measure(given.rows, given.langgraph), indent=1))


if __name__ == "__main__":
    main()
