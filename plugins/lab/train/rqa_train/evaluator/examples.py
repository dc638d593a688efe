"""Turn questions into training pairs with a target in [-1, 1], as in CRAG (Yan et al., 2024, appendix B.3)."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import tantivy

from robust_qa.kit import contains_answer, words

from .rows import Asked

_HELD_OUT = 10  # one question in 10 is held out


@dataclass(frozen=True, slots=True)
class Example:
    """A pair with a label (1: relevant, -1: not), a better judge's score in [-1, 1], or both."""

    question: str
    text: str
    label: float | None
    score: float | None = None

    @property
    def target(self) -> float:
        """The label, the score, or the mean of both."""
        given = [value for value in (self.label, self.score) if value is not None]
        return sum(given) / len(given)


def split(asked: Iterable[Asked]) -> tuple[list[Asked], list[Asked]]:
    """Return training and held-out questions. Only the words of a question decide, so the split is stable."""
    parts: tuple[list[Asked], list[Asked]] = [], []
    for one in asked:
        digest = hashlib.sha256(" ".join(one.question.lower().split()).encode("utf-8", "replace")).digest()
        parts[int.from_bytes(digest[:4], "big") % _HELD_OUT == 0].append(one)
    return parts


def labelled(asked: Iterable[Asked]) -> list[Example]:
    """Return all pairs that have a label."""
    return [
        Example(one.question, candidate.text, 1.0 if candidate.relevant else -1.0)
        for one in asked
        for candidate in one.candidates
        if candidate.relevant is not None
    ]


def examples(asked: Sequence[Asked], *, negatives: int, hard: int, seed: int) -> list[Example]:
    """Return the training pairs. Each question gives:

    - all relevant texts;
    - `negatives` random irrelevant texts for each relevant one, or for the question if there is none;
    - all texts with only a score;
    - `hard` texts of other questions, ranked by BM25, that contain no answer.
    """
    rng = random.Random(seed)
    found: list[Example] = []
    texts = sorted({candidate.text for one in asked for candidate in one.candidates})
    index = _Bm25(texts) if hard and any(one.answers for one in asked) else None
    for one in asked:
        good = [c for c in one.candidates if c.relevant]
        bad = [c for c in one.candidates if c.relevant is False]
        found += [Example(one.question, c.text, 1.0, c.score) for c in good]
        drawn = rng.sample(bad, min(len(bad), negatives * max(1, len(good))))
        found += [Example(one.question, c.text, -1.0, c.score) for c in drawn]
        found += [
            Example(one.question, c.text, None, c.score)
            for c in one.candidates
            if c.relevant is None and c.score is not None
        ]
        if index is not None and one.answers:
            found += [Example(one.question, text, -1.0) for text in _hard(one, index, texts, hard)]
    return found


def _hard(one: Asked, index: _Bm25, texts: Sequence[str], count: int) -> list[str]:
    own = {candidate.text for candidate in one.candidates}
    similar = (texts[n] for n in index.search(one.question, 10 * count + len(own)))
    negatives = [text for text in similar if text not in own and not contains_answer(text, one.answers)]
    return negatives[:count]


class _Bm25:
    """An in-memory BM25 index of `texts`."""

    def __init__(self, texts: Sequence[str]) -> None:
        engine: Any = tantivy
        schema = engine.SchemaBuilder().add_text_field("text", tokenizer_name="en_stem")
        schema = schema.add_unsigned_field("position", stored=True).build()
        self._index = engine.Index(schema)
        writer = self._index.writer(heap_size=64 << 20, num_threads=1)
        for position, text in enumerate(texts):
            writer.add_document(engine.Document(text=text, position=position))
        writer.commit()
        writer.wait_merging_threads()
        self._index.reload()
        self._searcher = self._index.searcher()

    def search(self, question: str, count: int) -> list[int]:
        """Return the positions of at most `count` texts, best first."""
        query, _ = self._index.parse_query_lenient(" ".join(words(question)), ["text"])
        hits = self._searcher.search(query, count).hits
        return [self._searcher.doc(address)["position"][0] for _, address in hits]
