"""Measure the gain of voting over parts of the passages, with a table for each question set.

    python benchmarks/voting.py popqa.jsonl nq.jsonl
    python benchmarks/voting.py popqa.jsonl --reader lexical --similarity em --metric em

A set is JSONL. Each row has `question`, `answers` and `passages`. The strategy `eor` of the installed `rqa` answers it
with five retrievers over the passages (all, first half, last half, odd, even), and a sixth that reranks them if an
evaluator is configured. The fitted vote is trained on one half of the rows and tested on the other, and vice versa, so
each row is tested once.

- accuracy: share of rows whose answer contains a gold answer, or the mean of --metric
- MRLR: of the questions that it answers wrong, the share that a retriever answers right, averaged over the retrievers;
  lower is better. Equation 3 of the paper leaves out the retriever itself. A vote has none to leave out, so here
  each retriever is compared with itself, too
- perfect: share of rows that at least one retriever has right, the upper bound of any vote

Needs `[train]`, for SciPy.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rqa_train.eor.ballots import Ballots, gold_of, load
from rqa_train.eor.search import fit, plain

Floats = NDArray[np.floating[Any]]


def run(path: Path, metric: Any, arguments: Sequence[str]) -> Ballots:
    """Return the ballots of the set at `path`."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "run.jsonl"
        command = [sys.executable, "-m", "robust_qa", "batch", str(path), "-o", str(output), "--strategy=eor"]
        command += ["--details", "--no-cache", *arguments]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode not in {0, 3}:  # 3: some rows failed
            raise SystemExit(f"{' '.join(command)}\nended with exit code {done.returncode}:\n{done.stderr}")
        ballots, lost = load(output, metric, gold_of(path))
    if lost:
        print(f"{lost} rows of {path.name} failed, and are left out", file=sys.stderr)
    return ballots


def fitted(ballots: Ballots, restarts: int) -> Floats:
    """Return the metric of the fitted vote for each question, with a fit on the other half."""
    half = np.random.default_rng(0).permutation(len(ballots.right)) % 2
    rightness = np.zeros(len(half))
    for tested in (0, 1):
        found = fit(ballots.of(np.flatnonzero(half != tested)), restarts=restarts)
        rows = np.flatnonzero(half == tested)
        rightness[rows] = ballots.of(rows).elected(found.weights, found.lambdas)
    return rightness


def mrlr(rightness: Floats, retrievers: Floats) -> float:
    """Return Equation 3 for `right` (q,) against `retrievers` (q, m): the mean of their relative win ratios over it."""
    lost = rightness < 0.5
    return float((retrievers[lost] >= 0.5).mean()) if lost.any() else 0.0


def table(name: str, ballots: Ballots, restarts: int) -> list[str]:
    """Return a line for each retriever, plain voting, fitted voting and the upper bound."""
    right = ballots.right
    even = plain(ballots)
    rows = {retriever: right[:, n] for n, retriever in enumerate(ballots.retrievers)}
    rows |= {"plain voting": ballots.elected(even.weights, even.lambdas), "fitted voting": fitted(ballots, restarts)}
    lines = [f"{name + ',':12} {f'{len(right)} rows':12} accuracy   MRLR"]
    lines += [f"  {who:23} {rightness.mean():8.1%} {mrlr(rightness, right):6.1%}" for who, rightness in rows.items()]
    return [*lines, f"  {'perfect voting':23} {right.max(1).mean():8.1%}", ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path, metavar="FILE", help="question sets, JSONL")
    parser.add_argument("--reader", help="reader of the run (default: as configured)")
    parser.add_argument("--similarity", action="append", default=[], metavar="NAME")
    parser.add_argument("--metric", choices=["containment", "em", "f1"], default="containment")
    parser.add_argument("--restarts", type=int, default=4)
    parser.add_argument("-O", dest="options", action="append", default=[], metavar="KEY=VALUE")
    given = parser.parse_args()
    arguments = [f"--option={option}" for option in given.options]
    arguments += [f"--reader={given.reader}"] if given.reader else []
    if given.similarity:
        arguments.append(f"--option=strategy.eor.similarities={given.similarity!r}")
    for path in given.sets:
        print("\n".join(table(path.stem, run(path, given.metric, arguments), given.restarts)), flush=True)


if __name__ == "__main__":
    main()
