"""Answer questions on a Ray cluster of two nodes, and remove one of them halfway.

    python benchmarks/ray_cluster.py [--rows 20000] [--latency 0.2] [--jobs 64]

Prints how many rows were lost and how many were written twice, and rows a second with the engines `local` and `ray`.
Both have the same number of questions in flight. The nodes, the endpoint and the commands share this machine. Needs
the extra `ray`. (A script of the name ray.py would hide Ray.)
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path

from endpoint import calls, running
from throughput import RQA, write_rows

MEMORY = 100_000_000  # bytes of the object store of a node


def batch(rows: Path, out: Path, url: str, jobs: int, *more: str) -> list[str]:
    """Return the command of a batch to a folder or file."""
    settings = {"plugin": "openai", "base_url": url, "model": "benchmark"}
    options = [part for key, value in settings.items() for part in ("-O", f"reader.bench.{key}={value}")]
    target = f"{out}/" if "--engine" in more else str(out)
    command = [*RQA, "-q", "batch", str(rows), "-o", target, "-s", "rag", "--reader", "bench", "--no-cache"]
    return [*command, *options, "-j", str(jobs), *more]


def lost_and_twice(out: Path, rows: int) -> tuple[int, int]:
    """Return how many rows the shards lack, and how many they have more than once."""
    shards = json.loads((out / "manifest.json").read_bytes())["shards"].values()
    lines = (line for shard in shards for line in (out / shard["name"]).read_bytes().splitlines())
    found = Counter(json.loads(line)["row"] for line in lines)
    return sum(number not in found for number in range(1, rows + 1)), sum(count > 1 for count in found.values())


def timed(arguments: list[str]) -> float:
    """Return the wall time of a command."""
    began = time.perf_counter()
    subprocess.run(arguments, check=True)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--latency", type=float, default=0.2, help="Seconds of the endpoint for an answer.")
    parser.add_argument("--jobs", type=int, default=64, help="Questions in flight.")
    asked = parser.parse_args()
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    logging.getLogger("ray").setLevel(logging.ERROR)
    node = {"num_cpus": 1, "object_store_memory": MEMORY}
    with tempfile.TemporaryDirectory() as folder, running(asked.latency) as url:
        rows, local, ray, removed = (Path(folder) / name for name in ("rows.jsonl", "local.jsonl", "ray", "removed"))
        write_rows(rows, asked.rows)
        seconds = timed(batch(rows, local, url, asked.jobs))
        print(f"local: {asked.rows} rows in {seconds:.1f} s: {asked.rows / seconds:.0f} rows/s", flush=True)
        cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
        try:
            second = cluster.add_node(**node)
            engine = ("--engine", "ray", "-O", f"engine.ray.address={cluster.address}")
            seconds = timed(batch(rows, ray, url, asked.jobs, *engine))
            print(
                f"ray, two nodes: {asked.rows} rows in {seconds:.1f} s: {asked.rows / seconds:.0f} rows/s", flush=True
            )
            before, began = calls(url), time.perf_counter()
            process = subprocess.Popen(batch(rows, removed, url, asked.jobs, *engine))
            while calls(url) - before < asked.rows / 2:
                assert process.poll() is None, "the run ended before half of the rows"
                time.sleep(0.05)
            cluster.remove_node(second, allow_graceful=False)
            assert process.wait() == 0, "the run failed"
            seconds = time.perf_counter() - began
        finally:
            cluster.shutdown()
        lost, twice = lost_and_twice(removed, asked.rows)
        again = calls(url) - before - asked.rows
    print(
        f"ray, one of two nodes removed halfway: {asked.rows} rows in {seconds:.1f} s: {lost} lost, {twice} twice; "
        f"{again} calls made again"
    )


if __name__ == "__main__":
    main()
