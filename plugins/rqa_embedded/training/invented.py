"""Made-up encyclopedia passages about places, films, books, songs, sport and people, with questions about their facts.

Passages about people say little of such things. Names are made of syllables, so that nothing can be known by heart:
only the passage tells. What is told and asked stands in invented.toml.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from .people import MONTH, style
from .rows import Row

_ABSENT = 0.45  # share of the rows that lack the fact asked for


class Fact(msgspec.Struct, forbid_unknown_fields=True):
    """Ways to tell a fact, and questions by the slot that holds their answer."""

    tell: list[str]
    ask: dict[str, list[str]]


class Kind(msgspec.Struct, forbid_unknown_fields=True):
    """What can be told of one kind of subject."""

    weight: int
    x: str | list[str]
    slots: dict[str, str | list[str]]
    facts: list[Fact]


class Invented(msgspec.Struct, forbid_unknown_fields=True):
    """The file."""

    lists: dict[str, list[str]]
    kind: list[Kind]


def invented_rows(count: int, rng: random.Random) -> Iterator[Row]:
    """`count` rows; some lack the fact, or tell it of a subject with a similar name."""
    source = msgspec.convert(tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")), Invented)
    weights = [kind.weight for kind in source.kind]
    for _ in range(count):
        article = _Article(rng.choices(source.kind, weights)[0], source.lists, rng)
        asked = rng.randrange(len(article.kind.facts))
        told, slot, question = article.fact(asked)
        rest = [article.fact(n)[0] for n in range(1, len(article.kind.facts)) if n != asked]
        rest = rng.sample(rest, rng.randint(0, len(rest)))
        first = [] if asked == 0 else [article.fact(0)[0]]
        answer = article.value(slot)
        if rng.random() < _ABSENT:
            yield _without(article, question, (told, answer), [*first, *rest], rng)
            continue
        parts = [*first, *rest]
        parts.insert(rng.randint(len(first), len(parts)) if asked else 0, told)
        text = " ".join(parts)
        start = text.index(told) + told.index(answer)
        yield Row(question, text, article.x if rng.random() < 0.9 else "", [answer], start, source="invented")


def _without(article: _Article, question: str, fact: tuple[str, str], others: list[str], rng: random.Random) -> Row:
    """A row whose passage leaves out the `fact` (sentence, answer), or tells it of somebody else."""
    told, answer = fact
    if others and rng.random() < 0.5 and not any(answer in other for other in others):
        return Row(question, " ".join(others), article.x, source="invented")
    alike = article.names.alike(article.x)
    text = " ".join([told, *others]).replace(article.x, alike)
    return Row(question, text, alike, source="invented")


class _Article:
    """One subject: its slots are filled when first asked for, and stay as they are."""

    def __init__(self, kind: Kind, lists: dict[str, list[str]], rng: random.Random) -> None:
        self.kind = kind
        self.names = _Names(rng)
        self._lists, self._rng = lists, rng
        self._values: dict[str, str] = {}
        self.x = self._made(kind.x)
        self._values["x"] = self.x
        self._told: dict[int, tuple[str, str, str]] = {}

    def fact(self, number: int) -> tuple[str, str, str]:
        """The sentence, the slot asked about, and the question; always the same for one number."""
        if number not in self._told:
            fact = self.kind.facts[number]
            template = self._rng.choice(fact.tell)
            slot = self._rng.choice([slot for slot in fact.ask if f"{{{slot}}}" in template] or list(fact.ask))
            if f"{{{slot}}}" not in template:
                template = next(tell for tell in fact.tell if f"{{{slot}}}" in tell)
            question = style(self._filled(self._rng.choice(fact.ask[slot])), self._rng)
            self._told[number] = self._filled(template), slot, question
        return self._told[number]

    def value(self, slot: str) -> str:
        """What stands in a slot."""
        if slot not in self._values:
            self._values[slot] = self._made(self.kind.slots[slot])
        return self._values[slot]

    def _made(self, how: str | list[str]) -> str:
        if isinstance(how, list):
            how = self._rng.choice(how)
        elif "{" not in how:
            return self._rng.choice(self._lists[how]) if how in self._lists else self.names.make(how)
        return self._filled(how)

    def _filled(self, template: str) -> str:
        text = re.sub(r"\{(\w+)\}", lambda slot: self.value(slot[1]), template)
        return re.sub(r"\b([Aa]) (?=[aeiouAEIO])", r"\1n ", text)


_SYLLABLES = (
    "ba be bo bra bre ca cha cor da del do dra el fa fre ga gor ha hel il ja ka kol kra la lin lo ma mar mel mi mo na "
    "ni no or pa pel po ra rin ro sa sel shi so sta ta tor tri u va ver vi wa wil ya zan ze"
).split()
_PLACE_ENDS = "ville ton berg grad pur abad stad by ford nice ano ola ac heim field mouth kirk".split()
_LAST_ENDS = "son ski ez ov man er ini sen ard ley ner wood ell ita as berg".split()
_FIRST = (
    "Anna Paul Maria John Peter Elena Karl Lucia David Sofia Ivan Laura Marco Nina Thomas Eva Henry Clara Samuel Irene "
    "Victor Rosa Martin Julia Oscar Helen Daniel Vera Robert Alice Hugo Emma Leon Grace Felix Ruth Olga George Ines "
    "Amir Leila Kenji Yuki Ravi Priya Chen Mei Omar Fatima Jack Mary William Susan James Linda"
).split()
_WORDS = (
    "Night River House Silent Golden Last Summer Road Broken Heart Winter Garden Secret Blue Fire Moon Dream Dark City "
    "Lost Stone Star Wild Sea Letter Shadow Glass Angel King Daughter Mountain Paper Iron Sky Storm Bridge Stranger "
    "Dance Red Rain Morning Return Game Little Island Promise"
).split()
_COUNTRIES = [
    pair.rsplit(" ", 1)
    for pair in (
        "Poland Polish|Turkey Turkish|Brazil Brazilian|France French|Germany German|Italy Italian|Spain Spanish|"
        "India Indian|Iran Iranian|Japan Japanese|China Chinese|Russia Russian|Mexico Mexican|Canada Canadian|"
        "Australia Australian|Norway Norwegian|Sweden Swedish|Finland Finnish|Estonia Estonian|Greece Greek|"
        "Egypt Egyptian|Nigeria Nigerian|Kenya Kenyan|Peru Peruvian|Chile Chilean|Cuba Cuban|Portugal Portuguese|"
        "Hungary Hungarian|Romania Romanian|Ukraine Ukrainian|Austria Austrian|Belgium Belgian|Denmark Danish|"
        "Ireland Irish|Scotland Scottish|Wales Welsh|England English|Pakistan Pakistani|Nepal Nepalese|Thailand Thai|"
        "Vietnam Vietnamese|Indonesia Indonesian|Morocco Moroccan|Ghana Ghanaian|Israel Israeli|Slovenia Slovenian|"
        "the United States American|the United Kingdom British"
    ).split("|")
]


class _Names:
    """Names that nobody has."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def make(self, kind: str) -> str:
        """A name of a `kind`: one of the methods below, or a number."""
        return str(getattr(self, f"_{kind}")())

    def alike(self, name: str) -> str:
        """Another name that shares words with `name` where it has several."""
        words = name.split()
        at = self._rng.choice([n for n, word in enumerate(words) if word[-1].isalnum()] or [0])
        words[at] = self._rng.choice([word for word in _WORDS if word != words[at]]) if words[at] in _WORDS else (
            self._stem() + words[at][-3:]
        )  # fmt: skip
        return " ".join(words)

    def _stem(self) -> str:
        return "".join(self._rng.choices(_SYLLABLES, k=self._rng.randint(1, 3))).capitalize()

    def _place(self) -> str:
        before = self._rng.choice(("", "", "", "", "New ", "Saint ", "Upper ", "El "))
        return before + self._stem() + self._rng.choice(_PLACE_ENDS)

    def _person(self) -> str:
        middle = self._rng.choice(("", "", "", f"{self._rng.choice('ABCDEFGHJKLMRST')}. "))
        return f"{self._rng.choice(_FIRST)} {middle}{self._stem()}{self._rng.choice(_LAST_ENDS)}"

    def _word(self) -> str:
        return self._rng.choice(_WORDS)

    def _work(self) -> str:
        one, two, three = self._rng.sample(_WORDS, 3)
        shapes = (
            f"The {one} {two}", f"{one} {two}", f"{one} of the {two}", one, f"The {one}", f"{self._stem()} {one}",
            f"A {one} for {self._rng.choice(_FIRST)}", f"{one} {two} {three}", f"{self._stem()}a",
        )  # fmt: skip
        return self._rng.choice(shapes)

    def _country(self) -> str:
        return self._rng.choice(_COUNTRIES)[0]

    def _people(self) -> str:
        return self._rng.choice(_COUNTRIES)[1]

    def _year(self) -> str:
        return str(self._rng.randint(1890, 2019))

    def _number(self) -> str:
        return f"{self._rng.randint(2, 900)},{self._rng.randint(100, 999)}"

    def _small(self) -> str:
        return str(self._rng.randint(3, 180))

    def _date(self) -> str:
        month, day = self._rng.choice(MONTH.split("|")), self._rng.randint(1, 28)
        return self._rng.choice((f"{month} {day}, {self._year()}", f"{day} {month} {self._year()}"))
