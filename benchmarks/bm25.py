"""Compare bm25 with bm25s and SQLite FTS5: time to build and query, disk and memory.

    python benchmarks/bm25.py --passages 100000 1000000 --queries 500

Passages are synthetic: about 100 words each, drawn by Zipf's law from 200,000 words with one seed. A query is a few
words of one passage, so most are common, as in a question. Every engine builds from the same TSV file and answers in
its own process, so peak memory is per engine. The engines take turns, so other work on the machine slows all of them.
Each returns the text of the ten best passages. An engine that needs more than `--memory` is marked in the table. One
that has used its `--budget` of seconds gets no more queries.

bm25s needs `pip install bm25s`. It does not stem here; FTS5 uses Porter's stemmer, rqa Snowball's.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

ENGINES = ("rqa", "bm25s", "fts5")
VOCABULARY = 200_000
TOP = 10
WARM_UP = 20  # queries that do not count

Search = Callable[[str], object]


# -- data


def words(seed: int) -> Iterator[list[str]]:
    """Yield passages without end, each a list of words."""
    rng = np.random.default_rng(seed)
    letters = "bdfgklmnprstvz", "aeiou"
    syllables = [consonant + vowel for consonant in letters[0] for vowel in letters[1]]
    vocabulary = []
    for rank in range(VOCABULARY):  # frequent words are short
        word, rest = "", rank + len(syllables)
        while rest:
            rest, syllable = divmod(rest, len(syllables))
            word += syllables[syllable]
        vocabulary.append(word)
    shares = 1 / (np.arange(VOCABULARY) + 2.7)  # Zipf-Mandelbrot law
    cumulative = np.cumsum(shares / shares.sum())
    while True:
        for length in rng.normal(100, 20, size=1000).clip(20, 180).astype(int):
            drawn = np.searchsorted(cumulative, rng.random(length)).clip(max=VOCABULARY - 1)
            yield [vocabulary[rank] for rank in drawn]


def write_passages(path: Path, count: int, seed: int) -> None:
    with path.open("w", newline="") as stream:
        rows = csv.writer(stream, delimiter="\t")
        rows.writerow(["id", "text", "title"])
        for number, passage in zip(range(count), words(seed), strict=False):
            rows.writerow([number, " ".join(passage), " ".join(passage[:2])])


def read_passages(path: Path) -> Iterator[list[str]]:
    with path.open(newline="") as stream:
        rows = csv.reader(stream, delimiter="\t")
        next(rows)
        yield from rows


def queries(count: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    drawn = zip(range(count), words(seed), strict=False)
    return [" ".join(rng.sample(passage, rng.randint(4, 10))) for _, passage in drawn]


# -- engines: each builds a folder from a TSV file and searches it


def build_rqa(data: Path, folder: Path) -> None:
    from robust_qa.host.loading import Host
    from rqa_bm25 import Bm25

    options = Bm25.Options(index=folder, file_megabytes=1_000_000)
    Bm25(options, formats=Host().file_formats).index([data])


def open_rqa(folder: Path) -> Search:
    from rqa_bm25 import Bm25

    retriever = Bm25(Bm25.Options(index=folder), formats=())
    return lambda query: retriever.retrieve(query, TOP)


def build_bm25s(data: Path, folder: Path) -> None:
    import bm25s

    texts = [f"{title} {text}" for _, text, title in read_passages(data)]
    retriever = bm25s.BM25()
    retriever.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)
    retriever.save(folder, corpus=texts, show_progress=False)


def open_bm25s(folder: Path) -> Search:
    import bm25s

    retriever = bm25s.BM25.load(folder, mmap=True, load_corpus=True)

    def search(query: str) -> object:
        tokens = bm25s.tokenize([query], show_progress=False)
        return retriever.retrieve(tokens, k=TOP, show_progress=False)

    return search


def build_fts5(data: Path, folder: Path) -> None:
    folder.mkdir()
    with sqlite3.connect(folder / "fts5.db") as database:
        database.execute("CREATE VIRTUAL TABLE p USING fts5(id UNINDEXED, text, title, tokenize='porter')")
        database.executemany("INSERT INTO p VALUES (?, ?, ?)", read_passages(data))
        database.execute("INSERT INTO p (p) VALUES ('optimize')")


def open_fts5(folder: Path) -> Search:
    database = sqlite3.connect(folder / "fts5.db")
    statement = "SELECT id, title, text FROM p WHERE p MATCH ? ORDER BY rank LIMIT ?"
    return lambda query: database.execute(
        statement, (" OR ".join(f'"{word}"' for word in query.split()), TOP)
    ).fetchall()


# -- the processes


def peak_memory() -> int:
    """Return the peak memory of this process in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def build(engine: str, data: Path, folder: Path, memory: float) -> None:
    """Build an index, and print time, disk and memory."""
    limit = int(memory * 1e9)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    begun = time.perf_counter()
    try:
        globals()[f"build_{engine}"](data, folder)
    except MemoryError:
        print(json.dumps({"failed": f"needs more than {memory:g} GB to build"}))
        return
    seconds = time.perf_counter() - begun
    cpu = time.process_time()
    disk = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    print(json.dumps({"seconds": seconds, "cpu": cpu, "disk": disk, "memory": peak_memory()}))


def serve(engine: str, folder: Path) -> None:
    """Answer each line, a query, with the seconds it took and the peak memory so far."""
    search = globals()[f"open_{engine}"](folder)
    for line in sys.stdin:
        begun = time.perf_counter()
        search(line.strip())
        print(time.perf_counter() - begun, peak_memory(), flush=True)


def child(*arguments: object) -> list[str]:
    return [sys.executable, __file__, *map(str, arguments)]


def run(count: int, asked: list[str], memory: float, budget: float, seed: int) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        write_passages(place / "passages.tsv", count, seed)
        built: dict[str, dict[str, float | str]] = {}
        for engine in ENGINES:
            command = child("--build", engine, place / "passages.tsv", place / engine, "--memory", memory)
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
            last = done.stdout.strip().rpartition("\n")[2]
            built[engine] = json.loads(last) if last else {"failed": f"exit status {done.returncode}"}
        servers = {
            engine: subprocess.Popen(
                child("--serve", engine, place / engine),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                bufsize=1,
            )
            for engine in ENGINES
            if "failed" not in built[engine]
        }
        seconds: dict[str, list[float]] = {engine: [] for engine in servers}
        memories = dict.fromkeys(servers, 0)
        for number, query in enumerate(asked):
            for engine, server in servers.items():
                if sum(seconds[engine]) > budget:
                    continue
                assert server.stdin is not None
                assert server.stdout is not None
                server.stdin.write(query + "\n")
                took, peak = server.stdout.readline().split()
                memories[engine] = int(peak)
                if number >= WARM_UP:
                    seconds[engine].append(float(took))
        for server in servers.values():
            server.communicate()
    show(count, built, seconds, memories)


def show(
    count: int,
    built: dict[str, dict[str, float | str]],
    seconds: dict[str, list[float]],
    memories: dict[str, int],
) -> None:
    print(f"\n{count:,} passages")
    columns = ("build s", "CPU s", "build MB", "disk MB", "p50 ms", "p99 ms", "MB", "queries")
    print(" " * 6 + "".join(f"{column:>9}" for column in columns))
    for engine, facts in built.items():
        if "failed" in facts:
            print(f"{engine:6}  {facts['failed']}")
            continue
        taken = seconds[engine]
        p99 = statistics.quantiles(taken, n=100, method="inclusive")[98]
        row = (
            f"{facts['seconds']:.1f}",
            f"{facts['cpu']:.1f}",
            f"{float(facts['memory']) / 1e6:.0f}",
            f"{float(facts['disk']) / 1e6:.0f}",
            f"{statistics.median(taken) * 1e3:.2f}",
            f"{p99 * 1e3:.2f}",
            f"{memories[engine] / 1e6:.0f}",
            f"{len(taken)}",
        )
        print(f"{engine:6}" + "".join(f"{cell:>9}" for cell in row), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--passages", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--memory", type=float, default=10.0, help="GB an engine may use to build")
    parser.add_argument("--budget", type=float, default=120.0, help="seconds of queries an engine gets")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--build", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.build:
        engine, data, folder = options.build
        build(engine, Path(data), Path(folder), options.memory)
    elif options.serve:
        serve(options.serve[0], Path(options.serve[1]))
    else:
        asked = queries(options.queries + WARM_UP, options.seed + 1)
        for count in options.passages:
            run(count, asked, options.memory, options.budget, options.seed)


if __name__ == "__main__":
    main()
