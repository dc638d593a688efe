"""Measure indexing: speed, memory, and how long rqa looks for changes in files that did not change.

    python benchmarks/indexing.py FOLDER [--vectors] [--files 10000]

Indexes FOLDER once with `rqa index`, with `bm25` or with `hybrid` and its packaged vectors. Processor seconds include
the processes that read the files, so they mean something on a busy machine too. Then it writes an index of many small
files, and refreshes it nine times; the median and the minimum count.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rqa_bm25 import Bm25


def measure(folder: Path, retriever: str) -> None:
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink()) / 1e6
    with tempfile.TemporaryDirectory() as place:
        began = time.perf_counter()
        option = f"retriever.{retriever}.index={place}"
        command = [sys.executable, "-m", "robust_qa", "index", "-r", retriever, "-O", option, str(folder)]
        subprocess.run(command, check=True)
        seconds = time.perf_counter() - began
        disk = sum(path.stat().st_size for path in Path(place).rglob("*") if path.is_file()) / 1e6
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = used.ru_utime + used.ru_stime
    print(f"{size:.1f} MB: {seconds:.1f} s, {processor:.1f} processor seconds, {processor / size:.2f} for each MB")
    print(f"peak memory of the largest process: {used.ru_maxrss / 1024:.0f} MiB; index: {disk:.1f} MB")


def scan(files: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder, options = Path(place, "files"), Bm25.Options(index=Path(place, "index"))
        for number in range(files):
            path = folder / f"{number // 100}" / f"{number}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"The meter number {number} shows {number * 7}.")
        Bm25(options).index([folder])
        walls, processor = [], []
        for _ in range(9):
            began, used = time.perf_counter(), time.process_time()
            Bm25(options).refresh()
            walls.append(time.perf_counter() - began)
            processor.append(time.process_time() - used)
    for name, values in (("wall", walls), ("processor", processor)):
        median, least = statistics.median(values) * 1000, min(values) * 1000
        print(f"refresh of {files} files that did not change: {median:.0f} ms of {name} time, at least {least:.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--vectors", action="store_true", help="make vectors, too")
    parser.add_argument("--files", type=int, default=10_000, help="number of files that do not change")
    given = parser.parse_args()
    measure(given.folder, "hybrid" if given.vectors else "bm25")
    if given.files:
        scan(given.files)


if __name__ == "__main__":
    main()
