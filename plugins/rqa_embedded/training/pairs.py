"""The training rows as pairs for `rqa train evaluator`: a question, a passage, and whether the one answers the other.

python -m rqa_embedded.training.pairs FOLDER [QUESTIONS] > pairs.jsonl
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import msgspec

from robust_qa import Passage

from .calibrate import holds
from .mixture import mixture
from .neighbours import Neighbours
from .rows import Row

_NEAR = 20  # passages among which a question's other one is looked for


def pairs(rows: Iterable[Row]) -> Iterator[dict[str, object]]:
    """Of every two rows alike both questions over both passages, with a label of 1 or -1.

    Every question and every passage is right once and wrong once, so that neither tells the label by itself. Otherwise
    that is what is learnt: passages made to lack an answer look it, and long ones are near to many questions. A row
    without an answer, and one that has none alike, is left out.
    """
    for one, other in alike([row for row in rows if row.answerable]):
        for asked, told in ((one, one), (one, other), (other, other), (other, one)):
            label = 1 if asked is told else -1
            yield {"question": asked.question, "title": told.title, "text": told.context, "label": label}


def alike(rows: Iterable[Row]) -> Iterator[tuple[Row, Row]]:
    """The rows two by two: each with the nearest to its question that is still free and does not answer it."""
    listed = list({row.context: row for row in {row.question: row for row in rows}.values()}.values())
    passages = [Passage(row.context, title=row.title) for row in listed]
    index = Neighbours([f"{passage.title} {passage.text}" for passage in passages])
    free = set(range(len(listed)))
    for n, row in enumerate(listed):
        if n not in free:
            continue
        for other in index.nearest(row.question, _NEAR):
            if other == n or other not in free:
                continue
            if not holds(row, passages[other]) and not holds(listed[other], passages[n]):
                free -= {n, other}
                yield row, listed[other]
                break


if __name__ == "__main__":
    most = int(sys.argv[2]) if len(sys.argv) > 2 else None
    for pair in pairs(islice(mixture(Path(sys.argv[1]), seed=13), most)):
        sys.stdout.buffer.write(msgspec.json.encode(pair) + b"\n")
