"""Measure indexing: speed, memory, and how long rqa looks for changes in files that did not change.

    python benchmarks/indexing.py FOLDER [--vectors] [--files 10000]

Indexes FOLDER once with `bm25`, or with `hybrid` and its packaged vectors. Processor seconds include the processes that
read the files, so they mean something on a busy machine too. Then it writes an index of many small files, and refreshes
it five times; the median counts.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import statistics
import tempfile
import time
from pathlib import Path

from robust_qa import IndexReport
from robust_qa.testing import embedder_handle
from rqa_bm25 import Bm25, Hybrid
from rqa_embedded import EmbeddedEmbedder

_WHO = {"rqa": resource.RUSAGE_SELF, "a reading process": resource.RUSAGE_CHILDREN}


def processor_seconds() -> float:
    used = [resource.getrusage(who) for who in _WHO.values()]
    return sum(each.ru_utime + each.ru_stime for each in used)


async def index(folder: Path, place: Path, vectors: bool) -> IndexReport:
    if not vectors:
        return Bm25(Bm25.Options(index=place)).index([folder])
    embedder = embedder_handle(EmbeddedEmbedder(EmbeddedEmbedder.Options()))
    hybrid = Hybrid(Hybrid.Options(index=place), embedder=embedder)
    report: IndexReport = await hybrid.index([folder])  # type: ignore[misc]
    return report


def measure(folder: Path, vectors: bool) -> None:
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink()) / 1e6
    with tempfile.TemporaryDirectory() as place:
        began, used = time.perf_counter(), processor_seconds()
        report = asyncio.run(index(folder, Path(place), vectors))
        seconds, used = time.perf_counter() - began, processor_seconds() - used
        disk = sum(path.stat().st_size for path in Path(place).rglob("*") if path.is_file()) / 1e6
    print(f"{report.added} files ({len(report.skipped)} skipped), {size:.1f} MB, {report.passages} passages")
    for name, duration in (("seconds", seconds), ("processor seconds", used)):
        print(f"{duration:.1f} {name}: {report.passages / duration:.0f} passages and {size / duration:.2f} MB a second")
    peaks = ", ".join(f"{resource.getrusage(who).ru_maxrss / 1024:.0f} MiB in {name}" for name, who in _WHO.items())
    print(f"peak memory: {peaks}; index: {disk:.1f} MB")


def scan(files: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder, options = Path(place, "files"), Bm25.Options(index=Path(place, "index"))
        for number in range(files):
            path = folder / f"{number // 100}" / f"{number}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"The meter number {number} shows {number * 7}.")
        Bm25(options).index([folder])
        walls, processor = [], []
        for _ in range(5):
            began, used = time.perf_counter(), time.process_time()
            Bm25(options).refresh()
            walls.append(time.perf_counter() - began)
            processor.append(time.process_time() - used)
    wall, used = statistics.median(walls), statistics.median(processor)
    print(f"refresh of {files} files that did not change: {wall * 1000:.0f} ms, {used * 1000:.0f} ms of processor time")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--vectors", action="store_true", help="make vectors, too")
    parser.add_argument("--files", type=int, default=10_000, help="number of files that do not change")
    given = parser.parse_args()
    measure(given.folder, given.vectors)
    if given.files:
        scan(given.files)


if __name__ == "__main__":
    main()
