"""The training rows as pairs for `rqa train evaluator`: a question, a passage, and whether the one answers the other.

python -m rqa_embedded.training.pairs FOLDER > pairs.jsonl
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from .mixture import mixture
from .rows import Row


def pairs(rows: Iterable[Row]) -> Iterator[dict[str, object]]:
    """The rows with a label of 1 or -1."""
    for row in rows:
        label = 1 if row.answerable else -1
        yield {"question": row.question, "title": row.title, "text": row.context, "label": label}


if __name__ == "__main__":
    for pair in pairs(mixture(Path(sys.argv[1]), seed=13)):
        sys.stdout.buffer.write(msgspec.json.encode(pair) + b"\n")
