"""Compare corrective RAG with RAG while passages with an answer are removed, in one table over question sets.

    python benchmarks/correction.py popqa.jsonl nq.jsonl
    python benchmarks/correction.py popqa.jsonl --rows 50 -O strategy.crag.upper=0.5 -O defaults.evaluator=t5

As in Figure 3 of the paper, a random share of the passages that contain a gold answer is removed; a larger share
includes a smaller one. The search is the provider `static` of the `web` retriever, over all passages of the set. Sets
and runs are as for accuracy.py. Columns:

- removed: share of the passages with a gold answer that was removed; held: share of rows that still have one
- rag: accuracy (gold contained in the answer) of `rag` over the remaining passages
- + search: of `rag` over these and five search results, whatever they are ("RAG w. web", Table 5)
- no search: of `crag` without a search, which abstains instead
- crag: of `crag` with the search; refused: share of rows without an answer
- Correct, Ambiguous, Incorrect: share of rows by the action of `crag`
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from accuracy import Row, answer, holds, passage_text, read_rows, score

SHARES = (0, 25, 50, 75, 100)  # per cent
ACTIONS = ("correct", "ambiguous", "incorrect")
HEADER = (
    "set          removed   held    rag  + search  no search   crag  refused  Correct  Ambiguous  Incorrect\n"
    "                 (%)    (%)    (%)       (%)        (%)    (%)      (%)      (%)        (%)        (%)"
)


def removed(rows: Sequence[Row], share: int, seed: int = 0) -> list[Row]:
    """Return the rows without `share` per cent of the passages with a gold answer, over all rows."""
    good = [
        (n, place)
        for n, row in enumerate(rows)
        for place, passage in enumerate(row["passages"])
        if holds(passage_text(passage), row["answers"])
    ]
    random.Random(seed).shuffle(good)
    gone = set(good[: round(len(good) * share / 100)])
    return [
        {**row, "passages": [p for place, p in enumerate(row["passages"]) if (n, place) not in gone]}
        for n, row in enumerate(rows)
    ]


def results(rows: Sequence[Row]) -> list[Row]:
    """Return all distinct passages of the set as search results."""
    found: dict[tuple[str, str], Row] = {}
    for row in rows:
        for passage in row["passages"]:
            given = {"text": passage} if isinstance(passage, str) else passage
            result = {"title": given.get("title", ""), "text": given["text"]}
            if result["text"].strip():
                found.setdefault((result["title"], result["text"]), result)
    return list(found.values())


def measure(
    rows: Sequence[Row], search: Path, arguments: Sequence[str], folder: Path
) -> tuple[list[float], Counter[str]]:
    """Return the accuracy of the four ways, the last one's share without answer, and rows by action."""
    questions = folder / "questions.jsonl"
    _write(questions, rows)
    web = ["--option=retriever.web.provider=static", f"--option=retriever.web.file={search}"]
    ways = (
        ["--strategy=rag"],
        ["--strategy=rag", "--retriever=given & web@5", *web],
        ["--strategy=crag", "--details"],
        ["--strategy=crag", "--details", "--option=strategy.crag.search=web@5", *web],
    )
    figures: list[float] = []
    for way in ways:
        replies, _ = answer(questions, [*way, *arguments])
        scored = score(rows, replies)
        figures.append(scored.accuracy)
    return [*figures, scored.refused], Counter(_action(reply) for reply in replies)


def _action(reply: Row) -> str:
    return str(reply["details"]["action"]) if reply.get("details") else "failed"


def _write(path: Path, rows: Sequence[Row]) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def line(name: str, share: int, rows: Sequence[Row], figures: Sequence[float], actions: Counter[str]) -> str:
    """Return a row of the table."""
    held = sum(any(holds(passage_text(p), row["answers"]) for p in row["passages"]) for row in rows) / len(rows)
    shares = [actions[action] / len(rows) for action in ACTIONS]
    widths = (6, 9, 10, 6, 8, 8, 10, 10)
    told = " ".join(f"{100 * value:{width}.1f}" for value, width in zip([*figures, *shares], widths, strict=True))
    return f"{name[:12]:12} {share:7} {100 * held:6.1f} {told}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path, metavar="FILE", help="question sets, JSONL")
    parser.add_argument("--rows", type=int, metavar="N", help="only the first N rows of each set")
    parser.add_argument("--seed", type=int, default=0, help="seed of the removal (default: 0)")
    parser.add_argument("-O", dest="options", action="append", default=[], metavar="KEY=VALUE")
    given = parser.parse_args()
    arguments = [f"--option={option}" for option in given.options]
    print(HEADER)
    for path in given.sets:
        rows: list[dict[str, Any]] = read_rows(path)[: given.rows]
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            search = folder / "results.jsonl"
            _write(search, results(rows))
            for share in SHARES:
                left = removed(rows, share, given.seed)
                print(line(path.stem, share, left, *measure(left, search, arguments, folder)), flush=True)


if __name__ == "__main__":
    main()
