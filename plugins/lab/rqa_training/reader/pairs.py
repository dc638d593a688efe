"""Write training rows as labelled pairs for `rqa train evaluator`.

python -m rqa_training.reader.pairs FOLDER [QUESTIONS] > pairs.jsonl
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

_NEAREST = 20  # similar passages to choose from


def pairs(rows: Iterable[Row]) -> Iterator[dict[str, object]]:
    """Yield both questions with both passages of every two similar rows, with label 1 or -1.

    Every question and every passage appears once with each label, so a model cannot learn the label from one of them.
    Rows without an answer or without a similar row are skipped.
    """
    for one, other in similar_rows([row for row in rows if row.answerable]):
        for asked, passage in ((one, one), (one, other), (other, other), (other, one)):
            label = 1 if asked is passage else -1
            yield {"question": asked.question, "title": passage.title, "text": passage.context, "label": label}


def similar_rows(rows: Iterable[Row]) -> Iterator[tuple[Row, Row]]:
    """Yield pairs of rows: each with the most similar unused row that does not answer its question."""
    listed = list({row.context: row for row in {row.question: row for row in rows}.values()}.values())
    passages = [Passage(row.context, title=row.title) for row in listed]
    index = Neighbours([f"{passage.title} {passage.text}" for passage in passages])
    free = set(range(len(listed)))
    for n, row in enumerate(listed):
        if n not in free:
            continue
        for other in index.nearest(row.question, _NEAREST):
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
