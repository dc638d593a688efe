"""Time one evaluation of the objective of `rqa train eor`: 1,000 questions, 16 retrievers, 3 similarities.

    python benchmarks/eor_objective.py

The similarities are random, and one answer in ten is missing. Prints the median of 51 evaluations for each pooling.
"""

from __future__ import annotations

import statistics
import time

import numpy as np

from rqa_eor.voting import Pooling
from rqa_train.eor.ballots import Ballots

QUESTIONS, SIMILARITIES, RETRIEVERS = 1_000, 3, 16
POOLINGS: tuple[Pooling, ...] = ("mean", "max", "top", "plurality", "majority")


def main() -> None:
    random = np.random.default_rng(0)
    tensor = random.random((QUESTIONS, SIMILARITIES, RETRIEVERS, RETRIEVERS)).astype(np.float32)
    present = random.random((QUESTIONS, RETRIEVERS)) < 0.9
    right = (random.random((QUESTIONS, RETRIEVERS)) < 0.5).astype(np.float32)
    weights, lambdas = random.uniform(0.1, 0.6, RETRIEVERS), random.uniform(0, 0.6, SIMILARITIES)
    for pooling in POOLINGS:
        names = tuple(map(str, range(RETRIEVERS)))
        ballots = Ballots(names, names[:SIMILARITIES], tensor, present, right, pooling)
        seconds = []
        for _ in range(51):
            began = time.perf_counter()
            ballots.elected(weights, lambdas).mean()
            seconds.append(time.perf_counter() - began)
        print(f"{pooling:10} {1000 * statistics.median(seconds):5.2f} ms")


if __name__ == "__main__":
    main()
