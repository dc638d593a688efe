"""Cite the sentences of passages that contain an answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest

from ..types import Citation, Passage, Reading
from .text import answer_key, contains_answer, is_row, normalise, sentences, with_title, words

_AROUND = 60  # words of the lines around a line
_ENDED = re.compile(r"[.!?。！？][\"'”’)\]]*\Z")
_ITEM = re.compile(r"(?:[-*+•]|\d{1,2}[.)])\s")
_LONGEST_QUOTE = 400  # characters
# Thai, Lao, Burmese, Khmer, Japanese and Chinese.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")


def cite(passage: Passage, answer: str | None = None, *, start: int | None = None) -> Citation:
    """Return a citation of `passage` whose quote is the sentence with `answer`.

    With `start`, a character offset in the text, it is the sentence there. Otherwise it is the first sentence that
    contains the answer as whole words, else as characters, else the one that shares most words with it. A long
    sentence is cut around the answer. For a compressed passage, cites one of its originals: the first that contains
    the answer, else the one that shares most words with the sentence.
    """
    if passage.made_of:
        return _cite_original(passage, answer, _quote(passage.text, answer or "", start)[0])
    quote, begin = _quote(passage.text, answer or "", start)
    words = " ".join((answer or "").split())
    at = quote.find(words) if words else -1
    return Citation(
        quote=quote,
        title=passage.title,
        source=passage.source,
        id=passage.id,
        origin=passage.origin,
        highlight=None if at < 0 else (at, at + len(words)),
        date=passage.date,
        file=passage.file,
        stale=passage.stale,
        place=passage.place_of(begin),
    )


def is_from(citation: Citation, passage: Passage) -> bool:
    """Return whether `citation` quotes `passage`, or one of the originals of a compressed passage."""
    if any(is_from(citation, original) for original in passage.made_of):
        return True
    if (citation.id, citation.source) != (passage.id, passage.source):
        return False
    return " ".join(citation.quote.strip("… ").split()) in " ".join(passage.text.split())


def cite_reading(reading: Reading, passages: Sequence[Passage]) -> tuple[Citation, ...]:
    """Return citations of the passages that support `reading`, which must have a text."""
    places = reading.places or (reading.start,)
    if all(place is None for place in places):  # a language model names passages without offsets
        named = [passages[position] for position in reading.passages]
        return tuple(cite(passage, reading.text) for passage in bearing_out(reading.text or "", named))
    return tuple(
        cite(passages[position], reading.text, start=place)
        for position, place in zip_longest(reading.passages, places[: len(reading.passages)])
    )


def bearing_out(answer: str, named: Sequence[Passage]) -> list[Passage]:
    """Return the passages of `named` that contain `answer` word for word, or all if none does.

    Language models often name every document that they were shown. If the answer is yes or no, or in other words than
    the documents, their list is the only evidence.
    """
    if answer_key(answer) in ("", "yes", "no"):
        return list(named)
    return [passage for passage in named if contains_words(answer, with_title(passage.title, passage.text))] or list(
        named
    )


def contains_words(answer: str, text: str) -> bool:
    """Return whether `text` contains `answer` as whole words, both normalised by `answer_key`: 1978 does not contain 7.

    In scripts without spaces each character counts as a word.
    """
    return _spaced(answer) in _spaced(text)


def _spaced(text: str) -> str:
    apart = _UNSPACED.sub(r" \g<0> ", answer_key(text))
    return f" {' '.join(apart.split())} "


def _cite_original(summary: Passage, answer: str | None, sentence: str) -> Citation:
    for passage in sorted(summary.made_of, key=lambda passage: not contains_words(answer or "", passage.text)):
        if answer and contains_answer(passage.text, [answer]):
            return cite(passage, answer)
    wanted = set(words(sentence))
    return cite(max(summary.made_of, key=lambda passage: len(wanted & set(words(passage.text)))), sentence)


def _nearest(text: str, spans: Sequence[tuple[int, int]], answer: str) -> tuple[int, int]:
    wanted = set(words(answer))
    return max(spans, key=lambda span: len(wanted & set(words(text[slice(*span)]))))


def _shown(text: str, units: Sequence[tuple[int, int]], unit: tuple[int, int]) -> tuple[int, int]:
    """Return the span to show for a unit: a line of a listing with those beside it, because alone it tells little."""
    first = last = units.index(unit)
    start, end = unit
    while (
        first and _go_on(text, *units[first - 1 : first + 1]) and _words(text, units[first - 1][0], end) <= _AROUND / 2
    ):
        first -= 1
        start = units[first][0]
    while (
        last + 1 < len(units)
        and _go_on(text, *units[last : last + 2])
        and _words(text, start, units[last + 1][1]) <= _AROUND
    ):
        last += 1
        end = units[last][1]
    return start, end


def _go_on(text: str, one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Return whether two units are lines of the same listing, not sentences, items or rows."""
    lines, between = (text[slice(*one)], text[slice(*other)]), text[one[1] : other[0]]
    is_text = _ENDED.search(lines[0]) or any(is_row(line) or _ITEM.match(line) for line in lines)
    return between.count("\n") == 1 and not is_text


def _words(text: str, start: int, end: int) -> int:
    return len(text[start:end].split())


def _quote(text: str, answer: str, start: int | None) -> tuple[str, int]:
    """Return what is quoted, and the offset in the text of the answer or of its sentence."""
    spans = sentences(text)
    if not spans:
        return "", 0
    if start is not None:
        chosen = next((span for span in spans if span[0] <= start < span[1]), spans[0])
    else:
        needle = normalise(answer)
        whole = (span for span in spans if contains_words(answer, text[slice(*span)]))
        part = (span for span in spans if needle and needle in normalise(text[slice(*span)]))
        chosen = next(whole, None) or next(part, None) or _nearest(text, spans, answer)
    quote = " ".join(text[slice(*_shown(text, spans, chosen))].split())
    begin = chosen[0] if start is None else start
    if len(quote) <= _LONGEST_QUOTE:
        return quote, begin
    if start is not None:
        at = len(" ".join(text[_shown(text, spans, chosen)[0] : start].split()))
    else:
        place = re.search(re.escape(" ".join(answer.split())), quote, re.IGNORECASE)
        at = place.start() if place else 0
    around = at - max(0, _LONGEST_QUOTE - len(answer)) // 2  # centre the answer
    first = max(0, min(around, len(quote) - _LONGEST_QUOTE))
    left, right = "…" * (first > 0), "…" * (first + _LONGEST_QUOTE < len(quote))
    return left + quote[first + len(left) : first + _LONGEST_QUOTE - len(right)].strip() + right, begin
