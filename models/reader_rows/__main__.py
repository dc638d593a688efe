"""Write training rows for `rqa train reader`: PYTHONPATH=models python -m reader_rows DATA SEED [held] > rows.jsonl

DATA holds qamr.jsonl, squad_sentences.jsonl and wiki_passages.jsonl. Another SEED draws other rows from them. With
`held`, writes the rows of held-out sentences and titles, for `--held-out`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from .mixture import mixture


def main(folder: str, seed: str, *held: str) -> None:
    """Write the rows to standard output."""
    for row in mixture(Path(folder), int(seed), held=bool(held)):
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
