"""What a sentence claims, which source says it, and whether two sentences contradict each other."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from urllib.parse import urlsplit

from robust_qa import Passage, Reading
from robust_qa.kit import content_terms, sentences

from .reading import values
from .values import Relation, Value, relate

_TITLE = re.compile(r"[A-Z][a-z]+\.|M(?:r|rs|s)|Dr|Prof")
_DIGITS = re.compile(r"\d+")
CLAUSE_END = re.compile(r"[;,]\s|\s(?:and|while|but|whereas)\s")
_LINES_BEFORE = 2  # that a sentence may have begun in
_SAME_THING = 1 / 3  # two sentences about the same thing share more than this part of their words


@dataclass(frozen=True, slots=True)
class Claim:
    """The sentence of an answer: its words without the answer's, and the values of the answer."""

    words: frozenset[str]
    values: tuple[Value, ...]

    @classmethod
    def at(cls, text: str, start: int, end: int) -> Claim:
        """Return the claim of the answer at characters `start` to `end` of `text`."""
        first, last = sentence_at(text, start, end)
        own = [each for each in values(text[first:last]) if each.start < end - first and start - first < each.end]
        return cls(frozenset(content_terms(f"{text[first:start]} {text[end:last]}")), tuple(own))

    @classmethod
    def of(cls, reading: Reading, passages: Sequence[Passage]) -> Claim:
        """Return the claim of a reading's text. An answer in a title has no sentence."""
        if reading.start is None or reading.end is None:
            return cls(frozenset(), ())
        return cls.at(passages[reading.passages[0]].text, reading.start, reading.end)

    def contradicts(self, other: Claim) -> bool:
        """Return whether both say something else about the same thing, such as another price for it."""
        if (self.values or other.values) and Relation.EXCLUDED not in self._relations(other):
            return False
        return len(self.words & other.words) > _SAME_THING * len(self.words | other.words)

    def agrees(self, other: Claim) -> bool:
        """Return whether both answers are the same value in other words, such as 5 km, or a date and its year."""
        return bool(self.values and other.values) and bool(self._relations(other)) and not self.differs(other)

    def differs(self, other: Claim) -> bool:
        """Return whether the answers are different values: 20 m and 20 cm, 20 euros and 20 dollars, 4 and 5 people.

        Counts of things with other names, such as 40 seats and 40 people, may be the same.
        """
        if relations := self._relations(other):
            return any(relation is not Relation.EQUAL for relation in relations)
        every = (*self.values, *other.values)
        return bool(self.values and other.values) and not any(each.kind.startswith("number") for each in every)

    def _relations(self, other: Claim) -> list[Relation]:
        """Return how each value relates to the nearest of the other claim; rougher dates and bounds are one with it."""
        found: list[Relation] = []
        for mine in self.values:
            each = [Relation.EQUAL if _alike(mine, one) else relate(mine, one) for one in other.values]
            if comparable := [one for one in each if one is not Relation.INCOMPARABLE]:
                found.append(Relation.EQUAL if Relation.EQUAL in comparable else comparable[0])
        return found


def _alike(one: Value, other: Value) -> bool:
    """Return whether one date has the other in it, as 1871 has 14 November 1871, or one is the other as a bound.

    "About 500" counts as 500.
    """
    relation = relate(one, other)
    if {one.kind, other.kind} <= {"date", "yearday"}:
        return relation in (Relation.IMPLIED, Relation.WITHIN)
    if one.kind != other.kind:
        return False
    is_about = relation is not Relation.EXCLUDED and _DIGITS.findall(one.text) == _DIGITS.findall(other.text) != []
    return is_about or _ends(one) == _ends(other)


def _ends(value: Value) -> set[float]:
    return {end for span in value.spans for end in span if isfinite(end)}


def same_name(one: str, other: str) -> bool:
    """Return whether two names may be of one person: A. Sjögren, Anna Sjögren and Prof. Sjogren."""
    names = [[word for word in _without_accents(text).split() if not _TITLE.fullmatch(word)] for text in (one, other)]
    fewer, more = sorted(names, key=len)
    if not fewer or fewer[-1] != more[-1] or not all(word[:1].isupper() for word in (*fewer, *more)):
        return False
    rest = iter(more[:-1])
    return all(any(_one_first_name(own, each) for each in rest) for own in fewer[:-1])


def _without_accents(text: str) -> str:
    return "".join(each for each in unicodedata.normalize("NFKD", text) if not unicodedata.combining(each))


def _one_first_name(one: str, other: str) -> bool:
    fewer, more = sorted((one.rstrip("."), other.rstrip(".")), key=len)
    return fewer == more or (len(fewer) == 1 and more.startswith(fewer))


def says_same(one: str, other: str) -> bool:
    """Return whether one answer key has all words of the other in a row: "1871" and "14 november 1871"."""
    return f" {one} " in f" {other} " or f" {other} " in f" {one} "


def may_agree(one: str, other: str) -> bool:
    """Return whether two answer keys need not contradict: one has all words of the other, or other spaces."""
    fewer, more = sorted((set(one.split()), set(other.split())), key=len)
    return fewer <= more or one.replace(" ", "") == other.replace(" ", "")


def sentence_at(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the characters of the sentence of `text` in which characters `start` to `end` begin."""
    return next(((a, b) for a, b in sentences(text) if a <= start < b), (start, end))


def whole_sentence_at(text: str, start: int, end: int) -> tuple[int, int]:
    """Return what `sentence_at` does, with the lines before it that the sentence began in, as in a PDF file."""
    first, last = sentence_at(text, start, end)
    for _ in range(_LINES_BEFORE):
        if first < 2 or text[first - 1] != "\n" or text[first - 2] in ".!?:;\n":
            break
        first, _ = sentence_at(text, first - 2, first)
    return first, last


def sentence_around(reading: Reading, passages: Sequence[Passage]) -> str:
    """Return the sentence of a reading without the answer: what the answer is about. "" if its place is not known."""
    if reading.start is None or reading.end is None:
        return ""
    text, start, end = passages[reading.passages[0]].text, reading.start, reading.end
    first, last = sentence_at(text, start, end)
    return " ".join(f"{text[first:start]} {text[end:last]}".split())


def source_of(passage: Passage) -> str:
    """Return the host of a passage from the web, else its file, else what tells it from all others but copies."""
    if "://" in passage.source:
        try:
            host = (urlsplit(passage.source).hostname or "").removeprefix("www.")
        except ValueError:
            host = ""
        return f"host {host}" if host else f"source {passage.source}"
    return f"source {passage.source}" if passage.source else f"text {passage.text}"
