"""One writer at a time, and the index after an interruption."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from robust_qa import BusyError, RqaError

INDEX = """
import sys
from pathlib import Path
from robust_qa.host.loading import Host
from rqa_bm25 import Bm25

def told(*state):
    print(*state, flush=True)
    sys.stdin.readline()

index, docs = map(Path, sys.argv[1:])
Bm25(Bm25.Options(index=index, writer_memory=15), formats=Host().file_formats).index([docs], told)
"""
FILES, ROWS = 8, 1000
STEPS = 2 * FILES  # progress reports for `many`: one per 1000 passages and one per file


@pytest.fixture
def many(docs: Path) -> Path:
    """Return so many documents that some are on disk before the commit."""
    for n in range(FILES):
        with (docs / f"{n}.jsonl").open("w") as file:
            for m in range(ROWS):
                text = " ".join(f"w{n}x{m}y{i}" for i in range(12))
                file.write(f'{{"id": "{n}-{m}", "text": "koala w{n}x{m} {text}"}}\n')
    return docs


class Writer:
    """Yield a process that indexes `docs` and waits at each progress report. It is killed at the end."""

    def __init__(self, index: Path, docs: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", INDEX, str(index), str(docs)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop(signal.SIGKILL)
        self.process.communicate()

    def go_to(self, step: int) -> None:
        for _ in range(step - 1):
            self.process.stdout.readline()
            self.process.stdin.write("\n")
        self.process.stdout.readline()

    def stop(self, how: signal.Signals) -> int:
        self.process.send_signal(how)
        self.process.wait(timeout=20)
        return self.process.returncode


@pytest.mark.parametrize(
    ("how", "step"),
    [(signal.SIGKILL, STEPS), (signal.SIGINT, STEPS // 2)],
)
def test_an_interrupted_writer_leaves_the_last_commit(tmp_path, many, bm25, how, step):
    (tmp_path / "first.txt").write_text("The panda eats bamboo.")
    bm25().index([tmp_path / "first.txt"])
    with Writer(tmp_path / "index", many) as writer:
        writer.go_to(step)
        assert writer.stop(how) != 0
    retriever = bm25()
    assert [passage.text for passage in retriever.retrieve("panda koala", 5)] == ["The panda eats bamboo."]
    report = retriever.index([many])
    assert (report.added, report.passages) == (FILES, FILES * ROWS + 1)
    assert len(retriever.retrieve("koala", 5)) == 5


@pytest.mark.parametrize("delay", [0.0, 0.05, 0.15])
def test_a_writer_killed_during_commit_leaves_all_or_nothing(tmp_path, many, bm25, delay):
    (tmp_path / "first.txt").write_text("The panda eats bamboo.")
    bm25().index([tmp_path / "first.txt"])
    with Writer(tmp_path / "index", many) as writer:
        writer.go_to(STEPS)
        writer.process.stdin.write("\n")
        time.sleep(delay)
    retriever = bm25()
    found = len(retriever.retrieve("koala", 5))
    assert found in (0, 5)
    report = retriever.index([many])
    assert (report.added, report.unchanged, report.passages) == ((FILES, 0) if found == 0 else (0, FILES)) + (
        FILES * ROWS + 1,
    )


@pytest.mark.parametrize(("how", "step"), [(signal.SIGINT, 3), (signal.SIGKILL, 6)])
def test_a_writer_interrupted_during_a_rewrite_leaves_the_last_commit(tmp_path, many, bm25, how, step):
    bm25(writer_memory=15).index([many])
    for n in (2, 5):
        (many / f"{n}.jsonl").unlink()
    with Writer(tmp_path / "index", many) as writer:
        writer.go_to(step)  # one report per 1000 of 6000 passages
        assert writer.stop(how) != 0
    retriever = bm25()
    assert {len(retriever.retrieve(f"w{n}x999", 5)) for n in range(8)} == {1}
    report = retriever.index([many])
    assert (report.removed, report.unchanged, report.passages) == (2, 6, 6 * ROWS)
    found = [retriever.retrieve(f"w{n}x999", 5) for n in range(8)]  # of a word that is gone, its parts are looked for
    assert [any(f"w{n}x999 " in each.text for each in own) for n, own in enumerate(found)] == [
        n not in (2, 5) for n in range(8)
    ]


def test_a_second_writer_is_refused_and_readers_are_not(docs, bm25):
    (docs / "a.txt").write_text("panda one")
    bm25().index([docs])
    (docs / "b.txt").write_text("panda two")
    meanwhile = []

    def second(*state: int) -> None:
        with pytest.raises(BusyError, match="Another process is writing"):
            bm25().index([docs])
        meanwhile.extend(passage.text for passage in bm25().retrieve("panda", 5))

    bm25().index([docs], second)
    assert set(meanwhile) == {"panda one"}
    assert len(bm25().retrieve("panda", 5)) == 2


def test_readers_always_see_whole_commits_while_one_writes(docs, bm25):
    bm25_reader = bm25()
    (docs / "a.txt").write_text("panda 0")
    bm25().index([docs])
    stop = threading.Event()
    seen: list[int] = []
    failures: list[Exception] = []

    def read() -> None:
        while not stop.is_set():
            try:
                seen.append(len(bm25_reader.retrieve("panda", 10)))
            except Exception as error:
                failures.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for n in range(1, 8):
        (docs / "a.txt").write_text(f"panda {n}")
        bm25().index([docs])
    stop.set()
    for reader in readers:
        reader.join()
    assert failures == []
    assert set(seen) == {1}


def test_an_error_while_writing_leaves_the_last_commit(docs, bm25, tmp_path):
    (docs / "a.txt").write_text("panda")
    bm25().index([docs])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    (docs / "b.txt").write_text("koala " * 20_000)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))  # as if the disk were full
    try:
        with pytest.raises(RqaError, match="Writing the index") as caught:
            bm25().index([docs])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "disk is not full" in caught.value.hint
    assert len(bm25().retrieve("panda", 5)) == 1
    assert bm25().index([docs]).added == 1
