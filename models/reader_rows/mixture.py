"""The training data of the packaged model: all sources, shuffled."""

from __future__ import annotations

import random
from pathlib import Path

from robust_qa.kit import sentences
from rqa_train.reader.rows import Row

from .cloze import cloze_rows
from .invented import invented_rows
from .people import people_rows
from .published import held_out, load_jsonl, qamr_rows, sentence_rows

_SQUAD_DEVELOPMENT = 10_570  # first rows, from SQuAD's development articles, which are test data


def mixture(folder: Path, seed: int, *, held: bool = False) -> list[Row]:
    """Return rows from qamr.jsonl, squad_sentences.jsonl and wiki_passages.jsonl in `folder`, and invented rows.

    With `held`, return the held-out rows instead.
    """
    rng = random.Random(seed)
    passages = [entry for entry in load_jsonl(folder / "wiki_passages.jsonl") if held_out(entry["title"]) == held]
    rows = [
        *qamr_rows(folder / "qamr.jsonl", rng, held=held, share=0.7),
        *sentence_rows(folder / "squad_sentences.jsonl", rng, held=held, first=_SQUAD_DEVELOPMENT),
        *(cropped(row, rng) for row in people_rows(passages, rng)),
        *(cropped(row, rng) for row in cloze_rows(passages, rng)),
        *invented_rows(500 if held else 18_000, rng),
    ]
    rng.shuffle(rows)
    return rows


def cropped(row: Row, rng: random.Random, share: float = 0.6) -> Row:
    """Shorten the passage to a few sentences around the answer, for a share of the rows. This speeds up training."""
    if rng.random() > share or (row.answers and row.start is None):
        return row
    spans = sentences(row.context)
    at = rng.randrange(len(spans))
    if row.start is not None:
        at = next((n for n, (_, end) in enumerate(spans) if end > row.start), len(spans) - 1)
    low, high = spans[max(0, at - rng.randint(0, 1))][0], spans[min(len(spans) - 1, at + rng.randint(0, 1))][1]
    if row.start is None:
        return Row(row.question, row.context[low:high], row.title, source=row.source)
    if row.start + len(row.answers[0]) > high:
        return row
    return Row(row.question, row.context[low:high], row.title, row.answers, row.start - low, source=row.source)
