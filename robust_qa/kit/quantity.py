"""Quantities in a sentence: sums of money, durations, shares, versions, dates and counts, in a normal form."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .terms import content_terms

_NUMERALS = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen twenty thirty"
_WORDS = dict(zip(_NUMERALS.split(), (*range(1, 16), 20, 30), strict=True))
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800, "month": 2629746, "year": 31556952}
_MONTHS = "January February March April May June July August September October November December".split()
_MONTH = "|".join(f"{name}|{name[:3]}\\.?" for name in _MONTHS)
_NUMBER = rf"\d+(?:,\d{{3}}){{0,6}}(?:\.\d+)?|(?:{'|'.join(_WORDS)})\b"
_UNIT = "|".join(_SECONDS)

_MONEY = re.compile(r"[$£€]\s?(?P<money>\d[\d,]*(?:\.\d+)?)")
_FREQUENCY = re.compile(
    rf"\b(?P<times>once|twice|(?:{_NUMBER}) times) (?:a|an|per|each|every) (?P<per>{_UNIT})\b", re.I
)
_EVERY = re.compile(rf"\b(?:every|each) (?P<every>{_UNIT})\b", re.I)
_DURATION = re.compile(rf"(?<![\w.$£€])(?P<long>{_NUMBER})[ -]+(?:\w+ )?(?P<unit>{_UNIT})s?\b", re.I)
_SHARE = re.compile(r"(?<![\w.])(?P<share>\d+(?:\.\d+)?)\s?(?:%|percent\b|per cent\b)")
_DATE = re.compile(
    rf"\b(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?[ -])?(?P<month>{_MONTH})"
    rf"(?: (?P<day2>\d{{1,2}})(?:st|nd|rd|th)?,?)?[ -](?P<year>\d{{4}})\b"
    r"|\b(?P<iso>\d{4}-\d\d-\d\d)\b"
)
_VERSION = re.compile(r"(?<![\w.])v?(?P<version>\d+(?:\.\d+){1,3})(?![\w.]*\d|\s?%)")
_COUNT = re.compile(rf"(?<![\w.$£€#/-])(?P<count>{_NUMBER})[ -](?P<noun>[^\W\d_]{{2,}})", re.I)
_YEAR = re.compile(r"\b(?:in|since|of|for|from|until|by) (?P<only>(?:19|20)\d\d)\b(?!-)")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value of a kind, such as 604800 of "duration", as it is written, and the characters that it takes."""

    kind: str
    value: str
    text: str
    start: int
    end: int


def quantities(text: str) -> list[Quantity]:
    """Return the quantities in `text`, in order. What one kind takes, the kinds after it leave."""
    found: list[Quantity] = []
    taken = bytearray(len(text))  # 1 for each character of a quantity

    def add(kind: str, value: str, match: re.Match[str]) -> None:
        start, end = match.span()
        if not any(taken[start:end]):
            taken[start:end] = b"\1" * (end - start)
            found.append(Quantity(kind, value, match[0], *match.span()))

    for match in _DATE.finditer(text):
        add(
            "date", match["iso"] or f"{match['month'][:3]} {match['day'] or match['day2'] or ''} {match['year']}", match
        )
    for match in _MONEY.finditer(text):
        add("money", _plain(match["money"]), match)
    for match in _FREQUENCY.finditer(text):
        times = {"once": 1.0, "twice": 2.0}.get(match["times"].lower()) or _number(match["times"].split()[0])
        add("duration", _rounded(_SECONDS[match["per"].lower()] / max(times, 1)), match)
    for match in _EVERY.finditer(text):
        add("duration", _rounded(_SECONDS[match["every"].lower()]), match)
    for match in _DURATION.finditer(text):
        add("duration", _rounded(_number(match["long"]) * _SECONDS[match["unit"].lower()]), match)
    for match in _SHARE.finditer(text):
        add("share", _plain(match["share"]), match)
    for match in _VERSION.finditer(text):
        add("version", match["version"], match)
    for match in _YEAR.finditer(text):
        add("year", match["only"], match)
    for match in _COUNT.finditer(text):
        if unit := content_terms(match["noun"]):
            add(f"count {unit[0]}", _plain(match["count"]), match)
    return sorted(found, key=lambda each: each.start)


def _plain(number: str) -> str:
    return _rounded(_number(number))


def _number(text: str) -> float:
    return float(_WORDS.get(text.lower()) or text.replace(",", "").rstrip(".") or 0)


def _rounded(value: float) -> str:
    """Return a number of three digits: a year has 12 months, and 365 days are one, too."""
    return f"{value:.3g}" if value >= 1e6 else f"{value:g}"
