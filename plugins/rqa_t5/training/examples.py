"""From questions to pairs with a target in [-1, 1], as CRAG trains its evaluator (Yan et al., 2024, appendix B.3)."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from robust_qa.kit import contains_answer

from ..rows import Asked
from .neighbours import Neighbours

_SHARE_HELD = 10  # one question in so many is kept out of training


@dataclass(frozen=True, slots=True)
class Example:
    """A pair; its label is 1 for relevant, -1 for not, and `score` is a teacher's opinion. One of them is there."""

    question: str
    text: str
    label: float | None
    score: float | None = None

    def target(self, trust: float) -> float:
        """What a model should say, where a teacher's score makes up the share `trust` of what has a label, too."""
        if self.label is None or self.score is None:
            return self.score or 0.0 if self.label is None else self.label
        return trust * self.score + (1 - trust) * self.label


def split(asked: Iterable[Asked]) -> tuple[list[Asked], list[Asked]]:
    """Questions to train on, and those held out. The question's words alone decide, so they are always the same."""
    parts: tuple[list[Asked], list[Asked]] = [], []
    for one in asked:
        digest = hashlib.sha256(" ".join(one.question.lower().split()).encode("utf-8", "replace")).digest()
        parts[int.from_bytes(digest[:4], "big") % _SHARE_HELD == 0].append(one)
    return parts


def labelled(asked: Iterable[Asked]) -> list[Example]:
    """All pairs that have a label, as they are."""
    return [
        Example(one.question, candidate.text, 1.0 if candidate.relevant else -1.0)
        for one in asked
        for candidate in one.candidates
        if candidate.relevant is not None
    ]


def examples(asked: Sequence[Asked], *, negatives: int, hard: int, seed: int) -> list[Example]:
    """The pairs to train on.

    Of each question all relevant texts, and for each of them (at least once) `negatives` of its others, drawn at
    random; those that only a teacher scored; and `hard` texts of other questions that BM25 ranks high and that hold
    no answer, where answers are known.
    """
    rng = random.Random(seed)
    found: list[Example] = []
    texts = sorted({candidate.text for one in asked for candidate in one.candidates})
    index = Neighbours(texts) if hard and any(one.answers for one in asked) else None
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


def _hard(one: Asked, index: Neighbours, texts: Sequence[str], count: int) -> list[str]:
    own = {candidate.text for candidate in one.candidates}
    alike = (texts[n] for n in index.nearest(one.question, 10 * count + len(own)))
    fitting = [text for text in alike if text not in own and not contains_answer(text, one.answers)]
    return fitting[:count]
