"""Quote the parts of passages that are closest to a question."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from ..types import Citation, Passage, Quote
from .text import content_terms, is_row, sentences, sentences_within, statements, words

QUOTE_WORDS = 60
QUOTES = 3
_ITEM = re.compile(r"(?:[-*+•]|\d++[.)])\s")


def quote_windows(text: str, words: int = QUOTE_WORDS) -> list[tuple[int, int]]:
    """Return the spans of the longest runs of whole sentences with up to `words` words, in order.

    A sentence is a unit of `sentences`, such as a row of a table. A longer one is a run of its own, but a longer row
    is as many sentences as its cells have.
    """
    units: list[tuple[int, int]] = []
    for start, end in sentences(text):
        is_long = len(text[start:end].split()) > words and is_row(text[start:end])
        units += sentences_within(text, start, end) if is_long else [(start, end)]
    sizes = [len(text[start:end].split()) for start, end in units]
    windows: list[tuple[int, int]] = []
    last = total = 0
    for first in range(len(units)):
        while last < len(units) and (last == first or total + sizes[last] <= words):
            total += sizes[last]
            last += 1
        if not windows or units[last - 1][1] > windows[-1][1]:
            windows.append((units[first][0], units[last - 1][1]))
        total -= sizes[first]
    return windows


def closest_quotes(question: str, passages: Sequence[Passage], quotes: int = QUOTES) -> list[Quote]:
    """Return a quote from each of the first `quotes` passages, in their order. Passages with equal texts count once.

    A quote is up to 60 words of whole sentences: those that share the rarest words with the question. A word is rarer
    the fewer sentences of all `passages` have it. Among the rows of a table, the one with the rarest is the highlight.
    """
    found = [set(words(text[start:end])) for text in {each.text for each in passages} for start, end in sentences(text)]
    counts = Counter(word for sentence in found for word in sentence)
    weights = {word: math.log(1 + len(found) / counts[word]) for word in set(words(question)) if counts[word]}

    def best(text: str, spans: Sequence[tuple[int, int]]) -> tuple[int, int]:
        shared = [weights.keys() & set(words(text[start:end])) for start, end in spans]
        return max(zip(shared, spans, strict=True), key=lambda pair: sum(weights[word] for word in pair[0]))[1]

    def quote(number: int) -> Quote:
        text = passages[number].text
        start, end = best(text, quote_windows(text))
        inner = [span for span in sentences(text) if start <= span[0] and span[1] <= end]
        row = best(text, inner) if len(inner) > 1 else None
        return Quote(number, start, end, highlight=row if row and is_row(text[slice(*row)]) else None)

    first = {passage.text: number for number, passage in reversed([*enumerate(passages)])}
    chosen = [n for text, n in sorted(first.items(), key=lambda item: item[1]) if text.strip()][:quotes]
    return [quote(number) for number in chosen]


def closest_texts(question: str, passages: Sequence[Passage], most: int, whole: int) -> list[tuple[Quote, str]]:
    """Return the `most` statements of all passages that share the rarest words with the question or claim, best first.

    Then come the first `whole` passages, each as a whole, with the closest of these statements in it as its quote.
    Among equals, those of earlier passages come first. Passages with equal texts count once.
    """
    first = {passage.text: number for number, passage in reversed([*enumerate(passages)])}
    places = [(number, start, end) for text, number in first.items() for start, end in statements(text, question)]
    found = [set(content_terms(passages[number].text[start:end])) for number, start, end in places]
    counts = Counter(word for sentence in found for word in sentence)
    weights = {word: math.log(1 + len(found) / counts[word]) for word in set(content_terms(question)) if counts[word]}
    shared = [sum(weights[word] for word in weights.keys() & sentence) for sentence in found]
    ranked = sorted(range(len(places)), key=lambda n: (-shared[n], places[n]))
    units = [Quote(*places[n]) for n in ranked[:most]]
    closest = {unit.passage: unit for unit in reversed(units)}
    single = [(unit, passages[unit.passage].text[unit.start : unit.end]) for unit in units]
    return single + [(closest[n], passages[n].text) for n in range(min(whole, len(passages))) if n in closest]


def cite_quote(quote: Quote, passages: Sequence[Passage]) -> Citation:
    """Return `quote` as a citation of at most 60 words, in one line, but for the items of a list and rows of tables."""
    passage = passages[quote.passage]
    start, end = quote.start, quote.end
    shown = "\n".join(_units(passage.text[start:end]))  # one line break is as long as the blank of one line
    highlight = None
    if quote.highlight and start <= quote.highlight[0] < quote.highlight[1] <= end:
        before, marked = passage.text[start : quote.highlight[0]], passage.text[slice(*quote.highlight)]
        begin = len(" ".join(f"{before}|".split())) - 1
        highlight = begin, begin + len(" ".join(marked.split()))
    parts = [word.span() for word in re.finditer(r"\S+", shown)]
    if len(parts) > QUOTE_WORDS:  # one long sentence: cut around the highlight
        first = 0
        if highlight:
            at = len(shown[: highlight[0]].split())
            first = max(0, min(at - QUOTE_WORDS // 2, len(parts) - QUOTE_WORDS))
        cut = shown[parts[first][0] : parts[first : first + QUOTE_WORDS][-1][1]]
        left = "… " if first else ""
        shift = len(left) - parts[first][0]
        if highlight:
            highlight = highlight[0] + shift, min(highlight[1] + shift, len(left) + len(cut))
        shown = left + cut + (" …" if first + QUOTE_WORDS < len(parts) else "")
    return Citation(
        quote=shown,
        title=passage.title,
        source=passage.source,
        id=passage.id,
        origin=passage.origin,
        highlight=highlight,
        date=passage.date,
        file=passage.file,
        stale=passage.stale,
        place=passage.place_of(quote.highlight[0] if quote.highlight else start),
    )


def _units(text: str) -> list[str]:
    """Return the lines of a text, those of wrapped text as one. An item of a list and a row of a table begin a line."""
    found: list[str] = []
    after_row = True
    for line in text.split("\n"):
        if shown := " ".join(line.split()):
            row = is_row(shown)
            if after_row or row or _ITEM.match(shown):
                found.append(shown)
            else:
                found[-1] += f" {shown}"
            after_row = row
    return found
