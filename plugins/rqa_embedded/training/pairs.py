"""The training rows as pairs for `rqa train evaluator`: a question, a passage, and whether the one answers the other.

Each question comes with its own passage and others that a retriever would return with it.

python -m rqa_embedded.training.pairs FOLDER [QUESTIONS] > pairs.jsonl
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from .calibrate import Retrieved, holds, retrieved
from .mixture import mixture


def pairs(asked: Iterable[Retrieved]) -> Iterator[dict[str, object]]:
    """The questions over each of their passages, with a label of 1 or -1."""
    for one in asked:
        for passage in one.passages:
            label = 1 if holds(one.row, passage) else -1
            yield {"question": one.row.question, "title": passage.title, "text": passage.text, "label": label}


if __name__ == "__main__":
    questions = int(sys.argv[2]) if len(sys.argv) > 2 else None
    for pair in pairs(retrieved(mixture(Path(sys.argv[1]), seed=13)[:questions])):
        sys.stdout.buffer.write(msgspec.json.encode(pair) + b"\n")
