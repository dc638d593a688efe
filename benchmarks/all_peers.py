"""Run every comparison with another program and write one Markdown table, with the machine and the versions.

    python benchmarks/all_peers.py [--short] [--out peers.md]

Each comparison runs its own script, in which rqa and its peer take turns. --short runs small sizes,
which show that everything works; their figures mean little. What a peer needs is in the docstring of its script. A
comparison that cannot run is in the table with its error.
"""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import sqlite3
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from peers import PEER

import robust_qa

# What is compared, the arguments for figures to publish, and those of a short run.
COMPARISONS = (
    ("start-up, beside click", "startup.py", "startup.py --runs 3"),
    ("search as a process, beside click", "search.py", "search.py --runs 3 --passages 300"),
    ("bm25, beside bm25s and FTS5", "bm25.py --passages 100000", "bm25.py --passages 2000 --queries 100"),
    ("batch, beside LangGraph", "peers.py --rows 6000", "peers.py --rows 200 --seconds 2"),
    ("reader, beside torch", "reading_speed.py", "reading_speed.py --seconds 1"),
    ("evaluator, beside torch", "evaluator_speed.py", "evaluator_speed.py --sizes t5-small --batches 1 --rounds 1"),
)
LIBRARIES = ("click", "tantivy", "ctranslate2", "numpy", "bm25s", "torch", "transformers")


def row(name: str, arguments: str) -> str:
    """Run a comparison and return its row: what was compared, the command, and the lines that it printed."""
    script, *rest = shlex.split(arguments)
    command = [sys.executable, str(Path(__file__).with_name(script)), *rest]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines() if done.returncode == 0 else [f"failed: {done.stderr.strip().splitlines()[-1]}"]
    figures = "<br>".join(" ".join(line.split()).replace("|", "\\|") for line in lines if line.strip())
    return f"| {name} | `{arguments}` | {figures} |"


def machine() -> str:
    """Return the processor, the operating system and the versions."""
    found = [f"rqa {robust_qa.__version__}", f"Python {platform.python_version()}", f"SQLite {sqlite3.sqlite_version}"]
    for name in LIBRARIES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"no {name}")
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    cores = f"{os.cpu_count()} cores of {platform.machine()}, load before {load}"
    return f"{cores}, {platform.system()} {platform.release()}. {', '.join([*found, *PEER])}."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="small sizes, to see that everything works")
    parser.add_argument("--out", type=Path, default=Path("peers.md"), metavar="FILE")
    given = parser.parse_args()
    lines = [machine(), "", "| compared | command | figures |", "|---|---|---|"]
    for name, long, short in COMPARISONS:
        lines.append(row(name, short if given.short else long))
        print(lines[-1], flush=True)
        given.out.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
