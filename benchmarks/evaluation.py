"""Measure the overhead of `rqa eval` over its model calls: 1,000 questions, 10 strategies.

    python benchmarks/evaluation.py [--questions 1000]

The endpoint answers at once. Prints wall time, peak resident memory, and CPU time per call of the whole command. Also
prints the CPU time of the harness alone: the rest after subtracting `rqa batch` runs of the same questions with each
strategy, each without its start-up.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from endpoint import calls, running
from throughput import RQA, write_rows

STRATEGIES = (
    "norag", "rag", "cot", "genread", "instructrag", "self_route", "chain_of_note", "answer_refinement",
    "context_filtering", "self_consistency",
)  # fmt: skip


@dataclass(frozen=True)
class Taken:
    """Seconds of wall time and CPU, and peak memory in MiB."""

    wall: float
    cpu: float
    memory: float


def take(arguments: Sequence[str], url: str) -> Taken:
    """Run `rqa` with these arguments in a process, with the endpoint."""
    settings = {"plugin": "openai", "base_url": url, "model": "benchmark"}
    options = [part for key, value in settings.items() for part in ("-O", f"reader.bench.{key}={value}")]
    options += ["-O", "defaults.evaluator=lexical"]  # a model would take longer than the harness
    command = [*RQA, "-q", *arguments, "--reader", "bench", "--no-cache", "-j", "64", *options]
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    began = time.perf_counter()
    _, status, usage = os.wait4(os.posix_spawn(sys.executable, command, os.environ, file_actions=quiet), 0)
    assert status == 0, f"{' '.join(arguments)} ended with status {status}"
    in_kib = sys.platform != "darwin"
    memory = usage.ru_maxrss / 1024 / (1 if in_kib else 1024)
    return Taken(time.perf_counter() - began, usage.ru_utime + usage.ru_stime, memory)


def add_answers(rows: Path) -> None:
    """Add gold answers: every second one equals the endpoint's answer."""
    lines = rows.read_text().splitlines()
    with rows.open("w") as file:
        for n, line in enumerate(lines):
            file.write(json.dumps(json.loads(line) | {"answers": ["Paris" if n % 2 else "Oslo"]}) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=1000)
    questions = parser.parse_args().questions
    with tempfile.TemporaryDirectory() as folder, running() as url:
        rows = Path(folder) / "rows.jsonl"
        write_rows(rows, questions)
        add_answers(rows)
        run = ["eval", str(rows), "-s", ",".join(STRATEGIES), "--baseline", "rag", "-o", f"{folder}/run"]
        whole = take(run, url)
        made = calls(url)
        print(f"{questions} questions, {len(STRATEGIES)} strategies, {made} calls: {whole.wall:.1f} s,", end=" ")
        print(f"{whole.memory:.0f} MiB, {1000 * whole.cpu / made:.2f} ms of CPU a call", flush=True)
        one = Path(folder) / "one.jsonl"
        write_rows(one, 1)
        start_up = take(["batch", str(one), "-s", "rag", "-o", f"{folder}/one"], url).cpu
        batches = [take(["batch", str(rows), "-s", name, "-o", f"{folder}/{name}"], url) for name in STRATEGIES]
        own = whole.cpu - start_up - sum(batch.cpu - start_up for batch in batches)
        print(f"the harness adds {1000 * own / made:.2f} ms of CPU a call to what `rqa batch` takes")


if __name__ == "__main__":
    main()
