"""Compare the index in Postgres with the local one: time to build, disk, time of a hybrid search, recall of HNSW.

    python benchmarks/postgres.py --eval FOLDER --dsn postgresql://me@/scratch?host=/run/postgresql --passages 1000000

The real passages and questions are those of the files *.jsonl in FOLDER, embedded with the packaged embedder. A copy
has the words of a real passage, of which a third are from another one, and its vector plus noise of `--noise` times its
length. The first copies have neither, so they are the real passages. Both indexes get the same vectors, and reading,
cutting and fusing are those of `rqa index` and `rqa ask`. The embedding of a question does not count.

`--dsn` names a database for scratch work: the tables `bench_*` in it are replaced.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from robust_qa import IndexReport, Key, Passage
from robust_qa.kit import with_title

TOP = 10
TABLE = "bench"
WARM_UP = 20  # questions that do not count
_NUMBER = re.compile(r"\[(\d+)\]")

Floats = NDArray[np.float32]
Texts = list[tuple[str, str]]  # title and text
Seconds = tuple[float, float]  # of the clock and of the processor


# -- data


def real(folder: Path) -> tuple[Texts, dict[str, set[int]]]:
    """Return the distinct passages of the files in `folder`, and the questions with the numbers of their passages."""
    passages: dict[tuple[str, str], int] = {}
    questions: dict[str, set[int]] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            own = questions.setdefault(row["question"], set())
            for passage in row.get("passages") or ():
                if passage["text"].strip():
                    text = passage.get("title") or "", " ".join(passage["text"].split())
                    own.add(passages.setdefault(text, len(passages)))
    return list(passages), questions


def embedded(texts: Sequence[str], cache: Path) -> Floats:
    """Return the vectors of `texts`, from the file `cache` if it has them."""
    if cache.is_file():
        known: Floats = np.load(cache)
        if len(known) == len(texts):
            return known
    from rqa_embedded.engine import Engine

    engine, began = Engine(threads=2), time.perf_counter()
    vectors = engine.embed(list(texts))
    print(f"embedded {len(texts) / (time.perf_counter() - began):.0f} texts a second on two threads", flush=True)
    np.save(cache, vectors)
    return vectors


def copies(passages: Texts, count: int, rng: random.Random) -> Iterator[tuple[str, str]]:
    """Yield `count` titles and texts: the passages, then copies with a third of the words from another one."""
    words = [text.split() for _, text in passages]
    for number in range(count):
        own = words[number % len(words)]
        if number >= len(words):
            other = words[rng.randrange(len(words))]
            own = [rng.choice(other) if rng.random() < 1 / 3 else word for word in own]
        yield f"{passages[number % len(words)][0]} [{number}]", " ".join(own)


def perturbed(vectors: Floats, count: int, noise: float, path: Path) -> Floats:
    """Return `count` unit vectors in the file `path`: `vectors`, then copies with noise."""
    found = cast(Floats, np.lib.format.open_memmap(path, "w+", np.float32, (count, vectors.shape[1])))
    rng = np.random.default_rng(1)
    for start in range(0, count, len(vectors)):
        part = vectors[: count - start]
        if start:
            part = part + rng.normal(0, noise / np.sqrt(part.shape[1]), part.shape).astype(np.float32)
            part /= np.linalg.norm(part, axis=1, keepdims=True)
        found[start : start + len(part)] = part
    return found


class Precomputed:
    """An embedder that looks the vectors up: of a passage by the number in its title, of a question by its text."""

    name = identity = "precomputed"
    languages = None

    def __init__(self, passages: Floats, questions: dict[str, Floats]) -> None:
        self._passages, self._questions = passages, questions

    async def embed(self, texts: Sequence[str]) -> Floats:
        return np.stack([self._vector(text) for text in texts]) if texts else np.empty((0, 0), np.float32)

    async def embed_query(self, question: str) -> Floats:
        return self._vector(question)

    def _vector(self, text: str) -> Floats:
        number = _NUMBER.search(text)
        vector: Floats = self._passages[int(number[1])] if number else self._questions.get(text, self._passages[0])
        return vector


# -- measuring


def timed_index(index: Callable[[Sequence[Path]], Any], file: Path) -> tuple[IndexReport, float]:
    async def run() -> IndexReport:
        found = index([file])
        return cast(IndexReport, await found if isinstance(found, Awaitable) else found)

    begun = time.perf_counter()
    return asyncio.run(run()), time.perf_counter() - begun


def search(retrieve: Callable[[str, int], Awaitable[list[Passage]]], questions: Sequence[str]) -> list[Seconds]:
    """Return the wall and processor seconds of each search but the first ones."""

    async def run() -> list[Seconds]:
        seconds = []
        for question in questions:
            begun, busy = time.perf_counter(), time.process_time()
            await retrieve(question, TOP)
            seconds.append((time.perf_counter() - begun, time.process_time() - busy))
        return seconds[WARM_UP:]

    return asyncio.run(run())


def show(name: str, report: IndexReport, build: float, disk: int, seconds: Sequence[Seconds]) -> None:
    wall, busy = zip(*seconds, strict=True)
    p99 = statistics.quantiles(wall, n=100, method="inclusive")[98]
    print(
        f"{name}: {report.passages:,} passages, built in {build:.0f} s, {disk / 1e6:,.0f} MB, "
        f"p50 {statistics.median(wall) * 1e3:.1f} ms, p99 {p99 * 1e3:.1f} ms of {len(seconds)} searches, "
        f"median processor time of this process {statistics.median(busy) * 1e3:.1f} ms",
        flush=True,
    )


def local(file: Path, folder: Path, handle: Precomputed, questions: Sequence[str]) -> None:
    from robust_qa.host.loading import Host
    from rqa_bm25 import Hybrid

    options = Hybrid.Options(index=folder, words=1000, file_megabytes=1_000_000, file_seconds=86_400)
    retriever = Hybrid(options, embedder=handle, formats=Host().file_formats)
    report, build = timed_index(retriever.index, file)
    disk = sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())
    show("local hybrid", report, build, disk, search(retriever.retrieve, questions))


def postgres(
    file: Path, dsn: str, handle: Precomputed, questions: Sequence[str], vectors: Floats, *, timeout: float
) -> None:
    import psycopg

    from robust_qa.host.loading import Host
    from rqa_postgres import Postgres

    with psycopg.connect(dsn) as connection:
        for name in ("passages", "files", "settings"):
            connection.execute(f"drop table if exists {TABLE}_{name}")
    options = Postgres.Options(
        key=Key("bench", dsn),
        table=TABLE,
        words=1000,
        file_megabytes=1_000_000,
        file_seconds=86_400,
        statement_timeout=timeout,
    )
    retriever = Postgres(options, embedder=handle, formats=Host().file_formats)
    report, build = timed_index(retriever.index, file)
    with psycopg.connect(dsn) as connection:
        sizes = connection.execute(
            "select pg_total_relation_size(%(table)s), pg_relation_size(%(hnsw)s), pg_relation_size(%(gin)s)",
            {"table": f"{TABLE}_passages", "hnsw": f"{TABLE}_by_vector", "gin": f"{TABLE}_by_word"},
        ).fetchone()
    assert sizes
    disk, hnsw, gin = sizes
    show("postgres", report, build, disk, search(retriever.retrieve, questions))
    print(f"  of these HNSW {hnsw / 1e6:,.0f} MB and GIN {gin / 1e6:,.0f} MB", flush=True)
    show_recall(dsn, handle, questions, vectors)
    retriever.close()


def show_recall(dsn: str, handle: Precomputed, questions: Sequence[str], vectors: Floats) -> None:
    """Print the share of the nearest passages that the search by vectors finds."""
    from rqa_postgres.database import Database
    from rqa_postgres.index import Index

    database = Database(Key("bench", dsn), connections=1, timeout=600)
    index = Index(database, TABLE)
    shares = []
    for question in questions:
        [vector] = asyncio.run(handle.embed([question]))
        _, found = index.rankings(question, vector, handle.identity, TOP)
        numbers = {int(number[1]) for passage in found[:TOP] if (number := _NUMBER.search(passage.title))}
        scores = vectors @ vector
        shares.append(len(numbers & set(np.argpartition(-scores, TOP)[:TOP].tolist())) / TOP)
    print(f"  recall@{TOP} of HNSW against exact search: {statistics.mean(shares):.3f}, lowest {min(shares):.1f}")
    database.close()


def show_ranked(dsn: str, handle: Precomputed, questions: dict[str, set[int]], distinct: int) -> None:
    """Print the share of questions that find their own passages, or copies, when fewer are ranked by words."""
    from rqa_postgres import index as tables
    from rqa_postgres.database import Database

    database = Database(Key("bench", dsn), connections=1, timeout=600)
    index = tables.Index(database, TABLE)
    for most in (10_000_000, 10_000, 3000, 1000):
        tables._MOST_RANKED = most
        hits, seconds = 0, []
        for question, own in questions.items():
            [vector] = asyncio.run(handle.embed([question]))
            begun = time.perf_counter()
            by_words, _ = index.rankings(question, vector, handle.identity, TOP)
            seconds.append(time.perf_counter() - begun)
            titles = " ".join(passage.title for passage in by_words[:TOP])
            hits += not own.isdisjoint(int(number) % distinct for number in _NUMBER.findall(titles))
        print(
            f"  {most:,} ranked: {hits / len(questions):.1%} found by words, "
            f"p50 {statistics.median(seconds) * 1e3:.1f} ms, slowest {max(seconds) * 1e3:.0f} ms",
            flush=True,
        )
    database.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--eval", type=Path, required=True, help="folder with the passages and questions")
    parser.add_argument("--dsn", default="", help="database for scratch work, not needed with --only local")
    parser.add_argument("--passages", type=int, nargs="+", default=[0, 1_000_000], help="0: the real ones")
    parser.add_argument("--questions", type=int, default=220)
    parser.add_argument("--noise", type=float, default=0.7)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()), help="folder for the vectors")
    parser.add_argument("--only", choices=["local", "postgres"])
    options = parser.parse_args()
    texts, own = real(options.eval)
    asked = list(own)
    passages = embedded([with_title(*each) for each in texts], options.cache / "rqa-bench-passages.npy")
    random.Random(1).shuffle(asked)
    asked = asked[: options.questions]
    questions = dict(zip(asked, embedded(asked, options.cache / "rqa-bench-questions.npy"), strict=True))
    for count in (number or len(texts) for number in options.passages):
        with tempfile.TemporaryDirectory(dir=options.cache) as temporary:
            place = Path(temporary)
            vectors = perturbed(passages, count, options.noise, place / "vectors.npy")
            file = place / "passages.jsonl"
            with file.open("w") as stream:
                for number, (title, text) in enumerate(copies(texts, count, random.Random(1))):
                    stream.write(json.dumps({"id": str(number), "title": title, "text": text}) + "\n")
            handle = Precomputed(vectors, questions)
            if options.only != "postgres":
                local(file, place / "index", handle, asked)
            if options.only != "local":
                postgres(file, options.dsn, handle, asked, vectors, timeout=600)
                show_ranked(options.dsn, handle, {question: own[question] for question in asked}, len(texts))


if __name__ == "__main__":
    main()
