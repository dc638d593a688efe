"""Measure how often `rqa batch` is right, in one table over question sets.

    python benchmarks/accuracy.py popqa.jsonl nq.jsonl
    python benchmarks/accuracy.py popqa.jsonl --reader lexical -O reader.lexical.threshold=0

A set is JSONL. Each row has `question`, `answers` and `passages`, which are objects with `title` and `text`, or
strings. The installed `rqa batch` answers each set, as for a user. Columns:

- held: share of rows whose passages contain a gold answer, both normalised as in SQuAD's evaluation
- accuracy: share of rows whose answer contains a gold answer; `of held`: the same among the rows held
- EM: share of rows whose answer equals a gold answer
- words: mean length of the answers (compare accuracies only at similar lengths)
- refused: share of rows without an answer, including failed rows
- at 50 %: accuracy of the half of the rows with the highest confidence, if there is a confidence
- rows/s: by the wall time of the whole command, including its start
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robust_qa.kit import contains_answer, gold_facts, normalise

Row = dict[str, Any]


@dataclass(frozen=True)
class Score:
    """Shares in [0, 1] over `rows` questions; `at_half` is None without any confidence."""

    rows: int
    held: float
    accuracy: float
    accuracy_of_held: float
    exact: float
    words: float
    refused: float
    at_half: float | None


def score(questions: Sequence[Row], replies: Sequence[Row]) -> Score:
    """Compare each reply with the gold answers of the question in the same position."""
    if len(questions) != len(replies):
        raise ValueError(f"{len(replies)} replies to {len(questions)} questions")
    held: list[bool] = []
    right: list[bool] = []
    exact: list[bool] = []
    lengths: list[int] = []
    sure: list[tuple[float, bool]] = []
    for question, reply in zip(questions, replies, strict=True):
        gold = gold_facts(question["answers"])
        text = reply.get("answer") or ""
        right.append(_has(text, gold))
        exact.append(bool(text and gold) and all(normalise(text) in map(normalise, group) for group in gold))
        held.append(_has(" \n ".join(map(passage_text, question.get("passages", ()))), gold))
        if text:
            lengths.append(len(text.split()))
        if reply.get("confidence") is not None and text:
            sure.append((reply["confidence"], right[-1]))
    sure.sort(key=lambda pair: -pair[0])
    half = [correct for _, correct in sure[: max(1, len(questions) // 2)]]
    return Score(
        rows=len(questions),
        held=_mean(held),
        accuracy=_mean(right),
        accuracy_of_held=_mean(correct for correct, there in zip(right, held, strict=True) if there),
        exact=_mean(exact),
        words=_mean(lengths),
        refused=1 - len(lengths) / max(1, len(questions)),
        at_half=_mean(half) if half else None,
    )


def _has(text: str, gold: list[list[str]]) -> bool:
    return bool(gold) and all(contains_answer(text, group) for group in gold)


def holds(text: str, answers: Sequence[Any]) -> bool:
    """Return whether `text` contains a gold answer."""
    return _has(text, gold_facts(answers))


def passage_text(passage: str | Row) -> str:
    """Return title and text of a passage."""
    return passage if isinstance(passage, str) else f"{passage.get('title', '')} \n {passage['text']}"


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed) if listed else 0.0


def answer(path: Path, arguments: Sequence[str]) -> tuple[list[Row], float]:
    """Return the replies of `rqa batch` to the set at `path`, and the seconds it took."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "replies.jsonl"
        started = time.perf_counter()
        command = [sys.executable, "-m", "robust_qa", "batch", str(path), "-o", str(output), "--no-cache"]
        done = subprocess.run([*command, *arguments], stderr=subprocess.PIPE, text=True, check=False)
        seconds = time.perf_counter() - started
        if done.returncode not in {0, 3}:  # 3: some rows failed; they count as refused
            raise SystemExit(f"{' '.join(command)}\nended with exit code {done.returncode}:\n{done.stderr}")
        return read_rows(output), seconds


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a JSONL file."""
    return [json.loads(line) for line in path.read_bytes().splitlines() if line.strip()]


HEADER = "set                   rows   held  accuracy  of held     EM  words  refused  at 50 %  rows/s"


def line(name: str, result: Score, seconds: float) -> str:
    """Return a row of the table, in per cent."""
    half = "-" if result.at_half is None else f"{100 * result.at_half:.1f}"
    return (
        f"{name[:20]:20} {result.rows:5} {100 * result.held:6.1f} {100 * result.accuracy:9.1f}"
        f" {100 * result.accuracy_of_held:8.1f} {100 * result.exact:6.1f} {result.words:6.1f}"
        f" {100 * result.refused:8.1f} {half:>7} {result.rows / seconds:7.0f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path, metavar="FILE", help="question sets, JSONL")
    parser.add_argument("--strategy", help="strategy of the run (default: as configured)")
    parser.add_argument("--reader", help="reader of the run (default: as configured)")
    parser.add_argument("-O", dest="options", action="append", default=[], metavar="KEY=VALUE")
    given = parser.parse_args()
    arguments = [f"--option={option}" for option in given.options]
    arguments += [f"--strategy={given.strategy}"] if given.strategy else []
    arguments += [f"--reader={given.reader}"] if given.reader else []
    print(HEADER)
    for path in given.sets:
        replies, seconds = answer(path, arguments)
        print(line(path.stem, score(read_rows(path), replies), seconds), flush=True)


if __name__ == "__main__":
    main()
