"""Short answers inside a sentence, for the kinds of question that have them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from . import gazetteer, patterns
from .question import Kind, Query
from .terms import STOPWORDS, stem, terms

# The trusts below were measured on QAMR's answers and, for facts about people, on Wikipedia's first sentences.


@dataclass(frozen=True, slots=True)
class Span:
    """A candidate answer at its offsets; `trust` is the log-odds that it is right if its sentence is."""

    start: int
    end: int
    trust: float


Finder = Callable[[Query, str, int, int], Iterator[Span]]
_TOKEN = re.compile(r"[^\W_]+")


def find(query: Query, text: str, start: int, end: int) -> list[Span] | None:
    """Candidate answers to `query` in the sentence `text[start:end]`; None if its kind has no short answers.

    What the question itself says is no answer to it.
    """
    finder = _FINDERS.get(query.kind)
    if finder is None:
        return None
    return [span for span in finder(query, text, start, end) if _is_new(query, text[span.start : span.end])]


def _is_new(query: Query, answer: str) -> bool:
    return any(f" {term} " not in query.text for term in terms(answer))


def _all(pattern: re.Pattern[str], trust: float) -> Finder:
    def finder(_query: Query, text: str, start: int, end: int) -> Iterator[Span]:
        for match in pattern.finditer(text, start, end):
            yield Span(*match.span(match.lastindex or 0), trust)

    return finder


def _near(pattern: re.Pattern[str], query: Query, text: str, start: int, end: int) -> Iterator[Span]:
    """Every match; trusted less the farther the question's words are, and the more rivals it has."""
    matches = [match.span(match.lastindex or 0) for match in pattern.finditer(text, start, end)]
    rivals = [(left, right) for left, right in matches if _is_new(query, text[left:right])]
    said = _said(query, text, start, end)
    for left, right in rivals:
        gap = min((max(left - stop, begin - right, 0) for begin, stop in said), default=end - start)
        yield Span(left, right, -gap / 40 - 0.5 * (len(rivals) - 1))


def _said(query: Query, text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Where the sentence says what the question says; names only if it says nothing else."""
    found = []
    for match in _TOKEN.finditer(text, start, end):
        token = stem(match.group().lower())
        term = query.aliases.get(token, token)
        if term in query.terms:
            found.append((term, match.span()))
    return [place for term, place in found if term not in query.names] or [place for _, place in found]


def _dates(query: Query, text: str, start: int, end: int) -> Iterator[Span]:
    if "birth" in query.terms:
        yield from _all(patterns.BIRTH_DATE, 2.5)(query, text, start, end)
    elif "die" in query.terms:
        yield from _all(patterns.DEATH_DATE, 2.5)(query, text, start, end)
    else:
        for span in _near(patterns.DATE, query, text, start, end):
            yield Span(span.start, span.end, span.trust + 1.0)


def _years(query: Query, text: str, start: int, end: int) -> Iterator[Span]:
    for span in _dates(query, text, start, end):
        if year := patterns.YEAR.search(text, span.start, span.end):
            yield Span(*year.span(), span.trust + 0.5)


def _numbers(query: Query, text: str, start: int, end: int) -> Iterator[Span]:
    for span in _near(patterns.QUANTITY, query, text, start, end):
        counts = query.counted and query.counted in terms(text[span.end : span.end + 40])[:3]
        yield Span(span.start, span.end, span.trust + (1.5 if counts else 0.4))


def _persons(query: Query, text: str, start: int, end: int) -> Iterator[Span]:
    if {"father", "mother"} & set(query.terms):
        parent = 2 if "mother" in query.terms else 1
        for match in patterns.PARENTS.finditer(text, start, end):
            if match.group(parent):
                yield Span(*match.span(parent), 2.5)
    said = [(begin, stop) for begin, stop in _said(query, text, start, end) if text[begin].islower()]
    for _, stop in said:
        if by := patterns.BY.match(text, stop, end):
            yield _trimmed(text, *by.span(1), 1.5)
        if query.role != "agent" and (held := patterns.HELD_BY.match(text, stop, end)):
            yield _trimmed(text, *held.span(1), 1.0)
    for span in _near(patterns.PERSON, query, text, start, end):
        if query.role != "patient" and any(patterns.DOING.fullmatch(text, span.end, begin) for begin, _ in said):
            yield _trimmed(text, span.start, span.end, 0.5)
        elif " " in text[span.start : span.end]:
            yield _trimmed(text, span.start, span.end, span.trust - 0.5)


def _trimmed(text: str, start: int, end: int, trust: float) -> Span:
    """A name without the possessive, and without a sentence's first word before it ("When Harry")."""
    if text[start:end].endswith(("'s", "’s")):
        end -= 2
    first, space, _ = text[start:end].partition(" ")
    if first.lower() in STOPWORDS:
        start += len(first) + len(space)
    return Span(start, end, trust)


def _places(query: Query, text: str, start: int, end: int) -> Iterator[Span]:
    if "birth" in query.terms:
        yield from _all(patterns.BIRTHPLACE, 2.5)(query, text, start, end)
    elif {"die", "bury"} & set(query.terms):
        yield from _all(patterns.DEATHPLACE, 2.5)(query, text, start, end)
    else:
        yield from _all(patterns.SITE, 0.2)(query, text, start, end)
        yield from _near(patterns.PLACE, query, text, start, end)


def _cities(query: Query, text: str, start: int, end: int) -> Iterator[Span]:
    finder = _all(patterns.CAPITAL, 1.5) if "capita" in query.terms else _places
    for span in finder(query, text, start, end):
        comma = text.find(",", span.start, span.end)
        yield Span(span.start, comma if comma > 0 else span.end, span.trust)


def _trades(_query: Query, text: str, start: int, end: int) -> Iterator[Span]:
    if match := patterns.TRADE.search(text, start, end):
        left, right = match.span(1)
        while modifier := patterns.TRADE_MODIFIER.match(text, left, right):
            left = modifier.end()
        yield Span(left, right, 2.0 if right - left < 60 else 0.5)


_FINDERS: Mapping[Kind, Finder] = {
    "date": _dates,
    "year": _years,
    "number": _numbers,
    "person": _persons,
    "place": _places,
    "city": _cities,
    "country": _all(gazetteer.COUNTRY, 1.3),
    "capital of": _all(patterns.CAPITAL_OF, 1.5),
    "occupation": _trades,
    "genre": _all(gazetteer.GENRE, 0.7),
    "sport": _all(gazetteer.SPORT, 2.0),
    "religion": _all(gazetteer.RELIGION, 1.0),
    "colour": _all(gazetteer.COLOUR, 1.0),
}
