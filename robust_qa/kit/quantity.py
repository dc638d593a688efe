"""Quantities in a sentence: sums of money, durations, measures, times, versions, dates and counts, in a normal form."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .text import content_terms

_NUMERALS = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_WORDS = dict(zip(f"{_NUMERALS} {_TENS}".split(), (*range(1, 16), *range(20, 100, 10)), strict=True))
_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9}
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800, "month": 2629746, "year": 31556952}
_CURRENCIES = {r"€|euros?|EUR": "euro", r"\$|dollars?|USD": "dollar", r"£|pounds?|GBP": "pound"}
_UNITS = {  # names of each unit, its kind, and its size in the first unit of that kind
    r"m|met(?:er|re)s?": ("length", 1.0),
    r"km|kilomet(?:er|re)s?": ("length", 1000.0),
    r"cm|centimet(?:er|re)s?": ("length", 0.01),
    r"mm|millimet(?:er|re)s?": ("length", 0.001),
    r"feet|foot|ft": ("feet", 1.0),
    r"miles?|mi": ("miles", 1.0),
    r"g|grams?|grammes?": ("mass", 1.0),
    r"kg|kilos?|kilogram(?:me)?s?": ("mass", 1000.0),
    r"t|tonnes?": ("mass", 1e6),
    r"l|lit(?:er|re)s?": ("volume", 1.0),
    r"ml|millilit(?:er|re)s?": ("volume", 0.001),
    r"kB|kilobytes?": ("data", 1e3),
    r"MB|megabytes?": ("data", 1e6),
    r"GB|gigabytes?": ("data", 1e9),
    r"(?:°|degrees?) ?C(?:elsius)?": ("temperature", 1.0),
    r"%|percent|per cent": ("share", 1.0),
    r"pence|cents?": ("money cent", 1.0),
    **{names: (f"money {currency}", 1.0) for names, currency in _CURRENCIES.items()},
}
_MONTHS = "January February March April May June July August September October November December".split()
_MONTH = "|".join(f"{name}|{name[:3]}\\.?" for name in _MONTHS)
_NUMBER = (  # 1,250.00 or 1.250,00 or 12,50 or twenty-eight
    r"\d{1,3}(?:\.\d{3})*,\d{1,2}(?!\d)|\d+(?:,\d{3}){0,6}(?:\.\d+)?"
    rf"|(?:(?:{_TENS.replace(' ', '|')})(?:[ -](?:{'|'.join(_NUMERALS.split()[:9])}))?|{'|'.join(_WORDS)})\b"
)
_NUMBER_WORD = re.compile(rf"(?<![\w-])(?=[^\W\d])(?:{_NUMBER})(?![\w-])", re.I)
_UNIT = "|".join(_SECONDS)

_SCALE = rf"(?: (?P<scale>{'|'.join(_SCALES)}))?"
_MONEY = re.compile(rf"(?P<currency>[$£€]|\b(?:EUR|USD|GBP)\b)\s?(?P<money>{_NUMBER}){_SCALE}")
_FREQUENCY = re.compile(
    rf"\b(?P<times>once|twice|(?:{_NUMBER}) times) (?:a|an|per|each|every) (?P<per>{_UNIT})\b", re.I
)
_EVERY = re.compile(rf"\b(?:every|each) (?P<every>{_UNIT})\b", re.I)
_DURATION = re.compile(rf"(?<![\w.$£€])(?P<long>{_NUMBER})[ -]+(?:\w+ )?(?P<unit>{_UNIT})s?\b", re.I)
_MEASURE = re.compile(rf"(?<![\w.$£€])(?P<size>{_NUMBER}){_SCALE}[ -]?(?P<unit>{'|'.join(_UNITS)})(?!\w)")
_CLOCK = re.compile(r"(?<![\w.:])(?P<hour>\d{1,2})(?::(?P<minute>[0-5]\d))?(?: ?(?P<half>[ap])\.?m\b)?(?![\w:])", re.I)
_DATE = re.compile(
    rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?[ -](?:of )?(?P<month>{_MONTH})(?:,?[ -](?P<year>\d{{4}}))?\b"
    rf"|\b(?P<month2>{_MONTH}) (?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (?P<year2>\d{{4}}))?\b"
    rf"|\b(?P<month3>{_MONTH})[ -](?P<year3>\d{{4}})\b"
    r"|\b(?P<iso>\d{4}-\d\d-\d\d)\b|\b(?P<day4>\d{1,2})\.(?P<month4>\d{1,2})\.(?P<year4>\d{4})\b"
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


def dates(text: str) -> list[Quantity]:
    """Return the dates in `text`, in order."""
    return [Quantity("date", each["iso"] or _iso(each), each[0], *each.span()) for each in _DATE.finditer(text)]


def quantities(text: str) -> list[Quantity]:
    """Return the quantities in `text`, in order. What one kind takes, the kinds after it leave."""
    found = dates(text)
    taken = bytearray(len(text))  # 1 for each character of a quantity
    for date in found:
        taken[date.start : date.end] = b"\1" * (date.end - date.start)

    def add(kind: str, value: str, match: re.Match[str]) -> None:
        start, end = match.span()
        if not any(taken[start:end]):
            taken[start:end] = b"\1" * (end - start)
            found.append(Quantity(kind, value, match[0], *match.span()))

    for match in _MONEY.finditer(text):
        currency = next(own for names, own in _CURRENCIES.items() if re.fullmatch(names, match["currency"]))
        add(f"money {currency}", _scaled(match["money"], match["scale"]), match)
    for match in _FREQUENCY.finditer(text):
        times = {"once": 1.0, "twice": 2.0}.get(match["times"].lower()) or _number(match["times"].split()[0])
        add("duration", _rounded(_SECONDS[match["per"].lower()] / max(times, 1)), match)
    for match in _EVERY.finditer(text):
        add("duration", _rounded(_SECONDS[match["every"].lower()]), match)
    for match in _DURATION.finditer(text):
        add("duration", _rounded(_number(match["long"]) * _SECONDS[match["unit"].lower()]), match)
    for match in _MEASURE.finditer(text):
        kind, size = next(own for names, own in _UNITS.items() if re.fullmatch(names, match["unit"]))
        add(kind, _scaled(match["size"], match["scale"], size), match)
    for match in filter(lambda each: each["minute"] or each["half"], _CLOCK.finditer(text)):
        add("clock", _minutes(match), match)
    for match in _VERSION.finditer(text):
        add("version", match["version"], match)
    for match in _YEAR.finditer(text):
        add("year", match["only"], match)
    for match in _COUNT.finditer(text):
        if unit := content_terms(match["noun"]):
            add(f"count {unit[0]}", _rounded(_number(match["count"])), match)
    return sorted(found, key=lambda each: each.start)


def same_value(kind: str, one: str, other: str) -> bool:
    """Return whether two values of a kind are one: 1871 and 1871-11-14 are, as dates."""
    fewer, more = sorted((one, other), key=len)
    return one == other or (kind == "date" and (more.startswith(f"{fewer}-") or more.endswith(f"-{fewer}")))


def with_normal_quantities(text: str) -> str:
    """Return `text` with its quantities in one form, so that "two years" and "24 months" are the same words."""
    for each in reversed(quantities(text)):
        value = each.value.replace("-", " ") if each.kind == "date" else f"{each.value} {each.kind}"
        text = text[: each.start] + value + text[each.end :]
    return with_digits(text)


def with_digits(text: str) -> str:
    """Return `text` with its number words as digits: 28 for twenty-eight."""
    return _NUMBER_WORD.sub(lambda match: f"{_number(match[0]):g}", text)


def _iso(date: re.Match[str]) -> str:
    """Return a date in words as YYYY-MM-DD, YYYY-MM or MM-DD."""
    year, month, day = (
        next(filter(None, (date[name] for name in names)), "")
        for names in (
            ("year", "year2", "year3", "year4"),
            ("month", "month2", "month3", "month4"),
            ("day", "day2", "day4"),
        )
    )
    number = int(month) if month.isdigit() else 1 + [name[:3] for name in _MONTHS].index(month[:3])
    return "-".join(filter(None, (year, f"{number:02}", day and f"{int(day):02}")))


def _minutes(clock: re.Match[str]) -> str:
    """Return a time of day in minutes after midnight."""
    hour, half = int(clock["hour"]), (clock["half"] or "").lower()
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    return str(60 * hour + int(clock["minute"] or 0))


def _scaled(number: str, scale: str | None, size: float = 1.0) -> str:
    return f"{_number(number) * _SCALES.get(scale or '', 1.0) * size:.12g}"


def _number(text: str) -> float:
    words = re.split("[ -]", text.lower())
    if words[0] in _WORDS:
        return float(sum(_WORDS[word] for word in words))
    if re.search(r",\d{1,2}$", text):  # a decimal comma
        text = text.replace(".", "").replace(",", ".")
    return float(text.replace(",", "").rstrip(".") or 0)


def _rounded(value: float) -> str:
    """Return a number of three digits: a year has 12 months, and 365 days are one, too."""
    return f"{value:.3g}" if value >= 1e6 else f"{value:g}"
