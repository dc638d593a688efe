"""Compare the speed of the embedded reader (int8 on CTranslate2) with the same model in torch fp32.

    python benchmarks/reading_speed.py            # needs the extra [train] for torch
    python benchmarks/reading_speed.py --threads 2 --tokens 145 --seconds 5

Both read the same windows, as many at once as the column says, with the same number of threads, one after the other.
Prints the best of three rounds, because other work on the machine can only slow a round down.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rqa_embedded.engine import PACKAGED, Engine

AT_ONCE = (1, 10, 64)


def windows(tokens: int, count: int) -> list[tuple[list[int], list[int]]]:
    """Return `count` windows of random words, around `tokens` long."""
    rng = random.Random(1)
    lengths = [rng.randint(tokens * 3 // 4, tokens * 5 // 4) for _ in range(count)]
    return [([101, *(rng.randint(2000, 28000) for _ in range(n - 2)), 102], [0] * 16 + [1] * (n - 16)) for n in lengths]


def pace(mark: Callable[[Any], Any], at_once: int, tokens: int, seconds: float) -> float:
    """Return windows per second."""
    some = windows(tokens, at_once)
    mark(some)
    best = 0.0
    for _ in range(3):
        began, done = time.perf_counter(), 0
        while time.perf_counter() - began < seconds / 3:
            mark(some)
            done += at_once
        best = max(best, done / (time.perf_counter() - began))
    return best


def in_torch(engine: Engine, folder: Path, threads: int) -> Callable[[Any], Any]:
    """Return the packaged model's weights in torch, in fp32."""
    import torch

    from rqa_train.reader.marking import InTorch
    from rqa_train.reader.model import SpanReader
    from rqa_train.reader.unpack import base_folder

    torch.set_num_threads(threads)
    base = base_folder(engine.folder, folder, lambda _: None)
    reader = InTorch(SpanReader(base).eval(), base / "tokenizer.json", engine.settings)
    return lambda some: reader.mark(some, at_once=64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, default=PACKAGED, metavar="FOLDER")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--tokens", type=int, default=145, help="mean length of a window (default: 145)")
    parser.add_argument("--seconds", type=float, default=6.0, help="duration of each measurement (default: 6)")
    given = parser.parse_args()
    engine = Engine(given.model, given.threads)
    print(f"windows/s of about {given.tokens} tokens, {given.threads} threads")
    print("at once " + "".join(f"{n:>9}" for n in AT_ONCE))
    with tempfile.TemporaryDirectory() as folder:
        for name, mark in (("int8", engine.mark), ("torch", in_torch(engine, Path(folder), given.threads))):
            figures = [pace(mark, n, given.tokens, given.seconds) for n in AT_ONCE]
            print(f"{name:8}" + "".join(f"{figure:9.1f}" for figure in figures), flush=True)


if __name__ == "__main__":
    main()
