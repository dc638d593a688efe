"""Find similar texts, to make passages on the same topic without the answer."""

from __future__ import annotations

import heapq
import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from .encoding import headed
from .rows import Row

_COMMON = 500  # words in more texts are ignored
_NEAREST = 8  # similar passages to draw from


class Neighbours:
    """An inverted index of `texts` that ranks by shared rare words."""

    def __init__(self, texts: list[str]) -> None:
        word_sets = [set(_words(text)) for text in texts]
        frequency = Counter(word for words in word_sets for word in words)
        self._weight = {word: math.log(len(texts) / count) for word, count in frequency.items()}
        self._where: dict[str, list[int]] = defaultdict(list)
        for number, words in enumerate(word_sets):
            for word in words:
                if frequency[word] <= min(_COMMON, max(20, len(texts) // 50)):
                    self._where[word].append(number)

    def nearest(self, query: str, count: int) -> list[int]:
        """Return the positions of at most `count` texts with the most shared weight, best first."""
        scores: dict[int, float] = defaultdict(float)
        for word in sorted(set(_words(query))):  # a fixed order for equal sums
            for number in self._where.get(word, ()):
                scores[number] += self._weight[word]
        return heapq.nsmallest(count, scores, key=lambda number: (-scores[number], number))

    def topic(self, texts: list[str]) -> str:
        """Return the most common word or pair of words of `texts`, as a replacement for a title."""
        counts: Counter[str] = Counter()
        for text in texts:
            words = _words(text)
            counts.update({word for word in words if len(word) > 3})
            counts.update({f"{a} {b}" for a, b in pairwise(words) if len(a) > 3 and len(b) > 3})
        scores = {
            term: count * sum(self._weight.get(word, 0.0) for word in term.split())
            for term, count in counts.items()
            if count > 1
        }
        return max(scores, key=lambda term: (scores[term], term)).title() if scores else ""


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


def near_rows(rows: Sequence[Row], rng: random.Random, share: float) -> Iterator[Row]:
    """Yield for a `share` of the rows their question with a similar passage of another question.

    These rows have no label, because a similar passage may contain the answer. Only a teacher's scores are learnt.
    """
    passages = list({headed(row): row for row in rows}.values())
    index = Neighbours([headed(row) for row in passages])
    for row in rows:
        if rng.random() >= share:
            continue
        similar = [passages[n] for n in index.nearest(row.question, _NEAREST)]
        if others := [one for one in similar if one.context != row.context]:
            one = rng.choice(others)
            yield Row(row.question, one.context, one.title, unlabelled=True, source="near")
