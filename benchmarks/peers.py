"""Compare `rqa batch` with a program on LangGraph that makes the same number of calls, in turns.

    python benchmarks/peers.py [--environment FOLDER] [--rows 4000] [--seconds 40]

Both make two sequential calls for each question, with 64 questions in flight, to one loopback endpoint in a process of
its own. LangGraph runs in a virtual environment of its own: FOLDER, or a temporary one. Prints questions a second with
an endpoint that answers at once, without start-up (a run of one row), in three alternations. Then prints the wall time
with 200 ms latency relative to the ideal (calls x latency / in flight).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import statistics
import subprocess
import tempfile
import time
import venv
from collections.abc import Callable
from pathlib import Path

import throughput
from endpoint import calls, running
from throughput import JOBS, LATENCY, write_rows

PEER = ("langgraph==1.2.24", "langchain-openai==1.7.4", "langchain-core==1.8.3", "openai==3.57.0")
ROUNDS, CALLS = 3, 2  # alternations; calls for a question
PROBES = 20_000  # requests that measure the endpoint


def prepare(folder: Path) -> Path:
    """Return the Python of a virtual environment in `folder` that has the peer."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", *PEER], check=True)
    return python


def ceiling(url: str) -> float:
    """Return the calls a second that the endpoint answers to a client that only writes and reads bytes."""
    address, _, path = url.removeprefix("http://").partition("/")
    host, _, port = address.partition(":")
    body = b'{"model": "benchmark", "messages": [{"role": "user", "content": "%s"}]}' % (b"word12 " * 600)
    request = b"POST /%s/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s"
    message = request % (path.encode(), len(body), body)

    async def worker() -> None:
        reader, writer = await asyncio.open_connection(host, int(port))
        for _ in range(PROBES // JOBS):
            writer.write(message)
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(head.lower().partition(b"content-length:")[2].split()[0]))
        writer.close()

    async def probe() -> None:
        await asyncio.gather(*(worker() for _ in range(JOBS)))

    began = time.perf_counter()
    asyncio.run(probe())
    return PROBES / (time.perf_counter() - began)


def peer(python: Path, rows: Path, url: str) -> float:
    """Return the seconds of the peer's program."""
    program = Path(__file__).with_name("peer_langgraph.py")
    began = time.perf_counter()
    subprocess.run([python, program, rows, url, str(JOBS), os.devnull], check=True)
    return time.perf_counter() - began


def spent(run: Callable[[Path, str], float], rows: Path, url: str) -> tuple[float, float]:
    """Return wall and processor seconds of a run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = run(rows, url)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(runs: dict[str, Callable[[Path, str], float]], rows: Path, one: Path, count: int) -> None:
    """Print questions a second of each run, in alternations, and their ratio."""
    rates: dict[str, list[float]] = {name: [] for name in runs}
    costs: dict[str, list[float]] = {name: [] for name in runs}
    ratios = []
    with running() as url:
        print(f"endpoint alone: {ceiling(url):.0f} calls/s")
        for number in range(1, ROUNDS + 1):
            for name, run in runs.items():
                start_up, idle = spent(run, one, url)
                before = calls(url)
                seconds, busy = spent(run, rows, url)
                assert calls(url) - before == count * CALLS, "not two calls for each question"
                rate = count / (seconds - start_up)
                rates[name].append(rate)
                cost = (busy - idle) / count / CALLS * 1000
                costs[name].append(cost)
                print(
                    f"round {number}, {name}: {rate:.0f} questions/s, {cost:.2f} ms of processor time a call",
                    flush=True,
                )
            ours, theirs = (rates[name][-1] for name in runs)
            ratios.append(ours / theirs)
            print(f"round {number}: {ratios[-1]:.2f} times", flush=True)
    for name, found in rates.items():
        print(
            f"{name}: median {statistics.median(found):.0f} questions/s ({min(found):.0f} to {max(found):.0f}), "
            f"{statistics.median(costs[name]):.2f} ms of processor time a call"
        )
    print(f"ratio: median {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environment", type=Path, metavar="FOLDER", help="virtual environment of the peer")
    parser.add_argument("--rows", type=int, default=4000, help="questions of a run at once")
    parser.add_argument("--seconds", type=float, default=40, help="ideal duration with latency")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        python = prepare(options.environment or folder / "peer")
        runs: dict[str, Callable[[Path, str], float]] = {
            "rqa": lambda rows, url: throughput.run("astute", rows, url),
            "LangGraph": lambda rows, url: peer(python, rows, url),
        }
        rows, one = folder / "rows.jsonl", folder / "one.jsonl"
        write_rows(one, 1)
        write_rows(rows, options.rows)
        compare(runs, rows, one, options.rows)
        count = round(options.seconds * JOBS / LATENCY / CALLS)
        write_rows(rows, count)
        for name, run in runs.items():
            with running(LATENCY) as url:
                seconds = run(rows, url)
            ideal = count * CALLS * LATENCY / JOBS
            print(f"{name}, {LATENCY * 1000:.0f} ms: {seconds / ideal:.3f} of the ideal {ideal:.0f} s", flush=True)


if __name__ == "__main__":
    main()
