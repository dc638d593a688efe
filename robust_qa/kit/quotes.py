"""Quote the parts of passages that are closest to a question."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from ..types import Citation, Passage
from .text import sentences, words

QUOTE_WORDS = 60
QUOTES = 3


def closest_quotes(question: str, passages: Sequence[Passage], quotes: int = QUOTES) -> tuple[Citation, ...]:
    """Return a quote from each of the first `quotes` passages, in their order. Passages with equal texts count once.

    A quote is up to 60 words of whole sentences: those that share the rarest words with the question. A word is rarer
    the fewer sentences of all `passages` have it.
    """
    spans = {passage.text: _units(passage.text) for passage in passages}
    found = {text: [set(words(text[slice(*span)])) for span in own] for text, own in spans.items()}
    counts = Counter(word for own in found.values() for each in own for word in each)
    total = sum(map(len, found.values()))
    weights = {word: math.log(1 + total / counts[word]) for word in set(words(question)) if counts[word]}
    first = {passage.text: passage for passage in reversed(passages)}
    chosen = [passage for passage in passages if first[passage.text] is passage and spans[passage.text]][:quotes]
    return tuple(
        Citation(
            quote=_window(passage.text, spans[passage.text], found[passage.text], weights),
            title=passage.title,
            source=passage.source,
            id=passage.id,
            origin=passage.origin,
            date=passage.date,
        )
        for passage in chosen
    )


def _units(text: str) -> list[tuple[int, int]]:
    """Return the spans of the sentences of each line."""
    units, start = [], 0
    for line in text.splitlines(keepends=True):
        units += [(start + first, start + last) for first, last in sentences(line)]
        start += len(line)
    return units


def _window(text: str, spans: Sequence[tuple[int, int]], found: Sequence[set[str]], weights: dict[str, float]) -> str:
    """Return the consecutive sentences of up to 60 words with the highest weight; of equal ones the first."""
    best, quote = -1.0, ""
    for first in range(len(spans)):
        shared: set[str] = set()
        part: list[str] = []
        for (_, end), here in zip(spans[first:], found[first:], strict=True):
            longer = text[spans[first][0] : end].split()
            if part and len(longer) > QUOTE_WORDS:
                break
            part, shared = longer, shared | here
        weight = sum(weights[word] for word in weights.keys() & shared)
        if weight > best:
            best, quote = weight, " ".join(part)
    parts = quote.split()
    return quote if len(parts) <= QUOTE_WORDS else " ".join(parts[:QUOTE_WORDS]) + " …"
