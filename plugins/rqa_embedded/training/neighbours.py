"""Sentences that look alike: what a passage about the same thing, without the answer, is made of."""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter, defaultdict
from itertools import pairwise

_COMMON = 500  # texts; a word of more says little, and following it takes long


class Neighbours:
    """An inverted index over `texts`; asks for the nearest by shared rare words."""

    def __init__(self, texts: list[str]) -> None:
        every = [set(_words(text)) for text in texts]
        frequency = Counter(word for words in every for word in words)
        self._weight = {word: math.log(len(texts) / count) for word, count in frequency.items()}
        self._where: dict[str, list[int]] = defaultdict(list)
        for number, words in enumerate(every):
            for word in words:
                if frequency[word] <= min(_COMMON, max(20, len(texts) // 50)):
                    self._where[word].append(number)

    def nearest(self, query: str, count: int) -> list[int]:
        """Positions of at most `count` texts that share the most weight with `query`, best first."""
        scores: dict[int, float] = defaultdict(float)
        for word in sorted(set(_words(query))):  # in one order, as sums of floats depend on it
            for number in self._where.get(word, ()):
                scores[number] += self._weight[word]
        return heapq.nsmallest(count, scores, key=lambda number: (-scores[number], number))

    def topic(self, texts: list[str]) -> str:
        """What `texts` are about: the word, or pair of words, that they share most of; a stand-in for a title."""
        counts: Counter[str] = Counter()
        for text in texts:
            words = _words(text)
            counts.update({word for word in words if len(word) > 3})
            counts.update({f"{a} {b}" for a, b in pairwise(words) if len(a) > 3 and len(b) > 3})
        worth = {
            term: count * sum(self._weight.get(word, 0.0) for word in term.split())
            for term, count in counts.items()
            if count > 1
        }
        return max(worth, key=lambda term: (worth[term], term)).title() if worth else ""


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())
