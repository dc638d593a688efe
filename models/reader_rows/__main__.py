"""Write training rows for `rqa train reader`: PYTHONPATH=models python -m reader_rows DATA SEED [held] > rows.jsonl

DATA holds qamr.jsonl, squad_sentences.jsonl and wiki_passages.jsonl, or public sets of questions like tatqa.jsonl.gz.
Another SEED draws other rows from them. With `held`, writes the rows of held-out sentences, titles and documents, for
`--held-out`.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import msgspec

from .mixture import mixture
from .questions import question_rows


def main(folder: str, seed: str, *held: str) -> None:
    """Write the rows to standard output."""
    if Path(folder, "qamr.jsonl").exists():
        rows = mixture(Path(folder), int(seed), held=bool(held))
    else:
        rows = list(question_rows(Path(folder), random.Random(int(seed)), held=bool(held)))
    for row in rows:
        fields = {
            "question": row.question,
            "context": row.context,
            "title": row.title,
            "answers": row.answers,
            "answer_start": row.start,
            "within": row.within,
            "source": row.source,
        }
        sys.stdout.buffer.write(msgspec.json.encode(fields) + b"\n")


main(*sys.argv[1:])
