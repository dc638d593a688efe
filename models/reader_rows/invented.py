"""Invented encyclopedia passages about places, films, books, songs, sport and people, with questions.

Names are made of syllables, so only the passage can answer. The templates are in invented.toml.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from rqa_train.reader.rows import Row

from .people import MONTH, style

_ABSENT = 0.45  # share of rows without the fact


class Fact(msgspec.Struct, forbid_unknown_fields=True):
    """Templates of a fact, and questions by the slot with their answer."""

    tell: list[str]
    ask: dict[str, list[str]]


class Kind(msgspec.Struct, forbid_unknown_fields=True):
    """The facts of one kind of subject."""

    weight: int
    x: str | list[str]
    slots: dict[str, str | list[str]]
    facts: list[Fact]


class Invented(msgspec.Struct, forbid_unknown_fields=True):
    """The content of invented.toml."""

    lists: dict[str, list[str]]
    kind: list[Kind]


def invented_rows(count: int, rng: random.Random) -> Iterator[Row]:
    """Yield `count` rows. Some lack the fact or state it about a similar name."""
    source = msgspec.convert(tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")), Invented)
    weights = [kind.weight for kind in source.kind]
    for _ in range(count):
        article = _Article(rng.choices(source.kind, weights)[0], source.lists, rng)
        asked = rng.randrange(len(article.kind.facts))
        sentence, slot, question = article.fact(asked)
        rest = [article.fact(n)[0] for n in range(1, len(article.kind.facts)) if n != asked]
        rest = rng.sample(rest, rng.randint(0, len(rest)))
        first = [] if asked == 0 else [article.fact(0)[0]]
        answer = article.value(slot)
        if rng.random() < _ABSENT:
            yield _without(article, question, (sentence, answer), [*first, *rest], rng)
            continue
        parts = [*first, *rest]
        parts.insert(rng.randint(len(first), len(parts)) if asked else 0, sentence)
        text = " ".join(parts)
        start = text.index(sentence) + sentence.index(answer)
        yield Row(question, text, article.x if rng.random() < 0.9 else "", [answer], start, source="invented")


def _without(article: _Article, question: str, fact: tuple[str, str], others: list[str], rng: random.Random) -> Row:
    """Return a row whose passage lacks the `fact` (sentence, answer) or states it about a similar name."""
    sentence, answer = fact
    if others and rng.random() < 0.5 and not any(answer in one for one in others):
        return Row(question, " ".join(others), article.x, source="invented")
    other = article.names.similar(article.x)
    text = " ".join([sentence, *others]).replace(article.x, other)
    return Row(question, text, other, source="invented")


class _Article:
    """One subject. Its slots are filled on first use."""

    def __init__(self, kind: Kind, lists: dict[str, list[str]], rng: random.Random) -> None:
        self.kind = kind
        self.names = _Names(rng)
        self._lists, self._rng = lists, rng
        self._values: dict[str, str] = {}
        self.x = self._generate(kind.x)
        self._values["x"] = self.x
        self._facts: dict[int, tuple[str, str, str]] = {}

    def fact(self, number: int) -> tuple[str, str, str]:
        """Return the sentence, the slot with the answer, and the question of a fact."""
        if number not in self._facts:
            fact = self.kind.facts[number]
            template = self._rng.choice(fact.tell)
            slot = self._rng.choice([slot for slot in fact.ask if f"{{{slot}}}" in template] or list(fact.ask))
            if f"{{{slot}}}" not in template:
                template = next(tell for tell in fact.tell if f"{{{slot}}}" in tell)
            question = style(self._fill(self._rng.choice(fact.ask[slot])), self._rng)
            self._facts[number] = self._fill(template), slot, question
        return self._facts[number]

    def value(self, slot: str) -> str:
        """Return the value of a slot."""
        if slot not in self._values:
            self._values[slot] = self._generate(self.kind.slots[slot])
        return self._values[slot]

    def _generate(self, how: str | list[str]) -> str:
        if isinstance(how, list):
            how = self._rng.choice(how)
        elif "{" not in how:
            return self._rng.choice(self._lists[how]) if how in self._lists else self.names.make(how)
        return self._fill(how)

    def _fill(self, template: str) -> str:
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
    """Generates invented names."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def make(self, kind: str) -> str:
        """Return a name of a `kind`: one of the methods below."""
        return str(getattr(self, f"_{kind}")())

    def similar(self, name: str) -> str:
        """Return another name that shares words with `name` if it has several."""
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
