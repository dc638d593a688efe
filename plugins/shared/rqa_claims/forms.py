"""The forms in which a text writes a single value: a pattern for each, and what it means.

Libraries that read such phrases (pint, dateparser, quantulum3) read fewer of these kinds, no bounds and no ranges, and
take longer to import than a question takes.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterator
from datetime import date
from functools import cache

from robust_qa.kit import content_terms

from .numbers import NUMBER, ONES, SCALE, exact, number_in, point, word_number
from .units import CENTURY_PARTS, CURRENCIES, DAYS, LABELS, MONTHS, NUMBER_WORDS, ORDINALS, ROMAN, SEASONS, UNITS
from .values import Span, day_of_year

_FRACTIONS = {"half": 0.5, "third": 1 / 3, "quarter": 0.25, "fifth": 0.2, "tenth": 0.1}
_MONTH = "|".join(rf"{name}|{name[:3]}\.?" for name in MONTHS) + r"|sept\.?"
_DAY = r"(?P<d>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<y>[12]\d{3})"
_PARTS = "|".join(CENTURY_PARTS)
_ORDINAL_WORDS = "|".join(ORDINALS)
_NAMED_UNITS = "|".join(re.escape(name) for name in sorted(UNITS, key=len, reverse=True) if len(name) > 3)
_SYMBOLS = "|".join(re.escape(name) for name in sorted(UNITS, key=len, reverse=True) if len(name) <= 3)
_MONEY_NAMES = "|".join(re.escape(name) for name in sorted(CURRENCIES, key=len, reverse=True))
_WEEKDAY = "|".join(rf"{name}s?|{name[:3]}s?\.?" for name in DAYS) + r"|tues\.?|thurs?\.?"

_LINES = re.IGNORECASE | re.MULTILINE

Found = tuple[str, tuple[Span, ...], bool]  # kind, spans, throughout
Reader = Callable[[re.Match[str]], Found | None]


def _days(first: date, last: date) -> Found:
    return "date", ((float(first.toordinal()), float(last.toordinal())),), False


def _month_number(name: str) -> int:
    return 1 + [each[:3] for each in MONTHS].index(name[:3].lower())


def read_date(match: re.Match[str]) -> Found | None:
    named = match.groupdict()
    year, month = named.get("y"), named.get("m")
    try:
        number = int(month) if month and month.isdigit() else _month_number(month or "")
        if year is None:
            day = named.get("d")
            first, last = (int(day), int(day)) if day else (1, 31)
            date(2000, number, first)
            return "yearday", ((day_of_year(number, first), day_of_year(number, last)),), False
        full = int(year) + (0 if len(year) == 4 else 2000 if int(year) < 70 else 1900)
        if named.get("d") is None:
            return _days(date(full, number, 1), date(full, number, monthrange(full, number)[1]))
        if "/" in match[0] and int(named["d"] or 0) <= 12 and int(named["d"] or 0) != number:  # by country
            either = date(full, number, int(named["d"] or 0)), date(full, int(named["d"] or 0), number)
            return "date", tuple((float(each.toordinal()),) * 2 for each in sorted(either)), False
        if number > 12 and "-" not in match[0]:  # month and day, as in the United States
            return _days(*(date(full, int(named["d"] or 0), number),) * 2)
        return _days(*(date(full, number, int(named["d"] or 0)),) * 2)
    except ValueError:
        return None


def _years(first: int, last: int) -> Found | None:
    return _days(date(first, 1, 1), date(last, 12, 31)) if 0 < first <= last < 10_000 else None


def _part(name: str | None, first: int, length: int) -> Found | None:
    low, high = CENTURY_PARTS[name.lower()] if name else (0.0, 1.0)
    return _years(first + round(low * length), first + round(high * length) - 1)


def _decade(match: re.Match[str]) -> Found | None:
    return _part(match["part"], int(match["y"]), 10)


def _century(match: re.Match[str]) -> Found | None:
    number = int(match["n"]) if match["n"] else ORDINALS[match["w"].lower()]
    return _part(match["part"], 100 * (number - 1) + (0 if match["part"] else 1), 100)


def _season(match: re.Match[str]) -> Found:
    first, last = SEASONS[match["season"].lower()]
    year, to = int(match["y"]), int(match["y"]) + (last < first)
    return _days(date(year, first, 1), date(to, last, monthrange(to, last)[1]))


def _quarter(match: re.Match[str]) -> Found:
    number = int(match["q"]) if match["q"] else ORDINALS[match["w"].lower()]
    length = 6 if match[0][0] in "Hh" or " half" in match[0].lower() else 3
    year, last = int(match["y"]), min(number * length, 12)
    return _days(date(year, last - length + 1, 1), date(year, last, monthrange(year, last)[1]))


def _clock(match: re.Match[str]) -> Found | None:
    hour, minute = int(match["h"]), int(match["min"] or 0)
    if half := (match["half"] or "").lower():
        if hour > 12:
            return None
        hour = hour % 12 + (12 if half == "p" else 0)
    return ("clock", point(60 * hour + minute), False) if hour <= 24 and minute < 60 else None


def read_spoken_clock(match: re.Match[str]) -> Found:
    hour = int(word_number(match["h"].lower()) if match["h"].isalpha() else match["h"])
    minutes = {"half past": 30, "quarter past": 15, "quarter to": -15}[match["at"].lower().removeprefix("a ")]
    later = 12 if match["when"] and match["when"].lower() != "morning" and hour < 12 else 0
    spans = point(60 * (hour + later) + minutes)
    if not match["when"] and hour < 12:  # of the morning or of the afternoon
        spans = (*spans, *point(60 * (hour + 12) + minutes))
    return "clock", spans, False


def _weekday(match: re.Match[str]) -> Found:
    number = [each[:3] for each in DAYS].index(match[0][:3].lower())
    return "weekday", ((float(number),) * 2,), False


def _each_day(*numbers: int) -> Found:
    return "weekday", tuple((float(each), float(each)) for each in numbers), True


def _money(match: re.Match[str]) -> Found:
    currency = CURRENCIES[match["c"].lower()]
    text = match["n"]
    value = number_in(text.strip("()"), money=True) * (-1 if text.startswith("(") else 1)
    return f"money {currency}", point(value), False


def _measure(match: re.Match[str]) -> Found:
    name = match["u"]
    dimension, factor, offset = UNITS.get(name) or UNITS[name.lower()]
    text = match["n"].strip()
    if text[:1].lower() == "a":  # a week, an hour and a half
        value = 1.5 if match[0].lower().endswith("and a half") else 1.0
    elif text.lower().startswith("half"):
        value = 0.5
    else:
        value = number_in(text) + (0.5 if match[0].lower().endswith("and a half") else 0)
    return dimension, point(value * factor + offset), False


def _period(match: re.Match[str]) -> Found:
    times = {"once": 1.0, "twice": 2.0}.get(match["t"].lower()) if match["t"] else 1.0
    times = times or number_in(match["t"].split()[0])
    return "period", point(UNITS[match["u"].lower()][1] / max(times, 1)), False


def _fraction(match: re.Match[str]) -> Found:
    many = NUMBER_WORDS.get((match["n"] or "").lower(), 1)
    value = 100 * many * _FRACTIONS[match["f"].lower().rstrip("s")]
    exact = value == round(value)
    return "share", ((value, value) if exact else (value - 0.5, value + 0.5),), False


def _version(match: re.Match[str]) -> Found:
    parts = [int(each) for each in re.split(r"[._]", match["v"])]
    value = sum(part / 1000**place for place, part in enumerate(parts[:4]))
    return "version", point(value), False


def _label(match: re.Match[str]) -> Found | None:
    text = match["n"]
    if text[:1].isdigit():
        parts = [int(each) for each in text.split(".")]
        value = sum(part / 1000**place for place, part in enumerate(parts[:4]))
    elif re.fullmatch(ROMAN, text):
        numerals = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}
        digits = [numerals[each] for each in text]
        value = sum(-one if one < other else one for one, other in zip(digits, [*digits[1:], 0], strict=True))
    else:
        return None
    return f"label {match['l'].lower().rstrip('s')}", point(value), False


def _ordinal(match: re.Match[str]) -> Found | None:
    noun = content_terms(match["noun"])
    number = int(match["n"]) if match["n"] else ORDINALS[match["w"].lower()]
    return (f"ordinal {noun[0]}", point(number), False) if noun else None


def _aged(match: re.Match[str]) -> Found:
    year = UNITS["year"][1]
    low = number_in(match["n"]) * year
    high = number_in(match["to"]) * year if match["to"] else low
    return "duration", ((exact(low), exact(high)),), bool(match["to"])


def read_bare_year(match: re.Match[str]) -> Found | None:
    return _years(int(match["y"]), int(match["y"]))


def read_count(match: re.Match[str]) -> Found | None:
    noun = content_terms(match["noun"] or "")
    if not noun and re.fullmatch(r"1[5-9]\d\d|20\d\d", match["n"]):
        return _years(int(match["n"]), int(match["n"]))
    return f"number {noun[0]}" if noun else "number", point(number_in(match["n"])), False


@cache
def forms() -> tuple[tuple[re.Pattern[str], Reader], ...]:
    """Return the forms of values, in the order in which they take characters. Compiled when a text is read."""
    return tuple(_all_forms())


def _all_forms() -> Iterator[tuple[re.Pattern[str], Reader]]:
    def form(pattern: str, read: Reader, flags: int = re.IGNORECASE) -> tuple[re.Pattern[str], Reader]:
        return re.compile(pattern, flags), read

    yield form(r"\b(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)(?!\d)", read_date)
    yield form(rf"\b{_DAY}[ -](?:of )?(?P<m>{_MONTH})[ -](?P<y>\d\d)(?=\s\s|\s*[:,;)–—|]|\s*$| -)", read_date, _LINES)
    yield form(rf"\b{_DAY}[ -](?:of )?(?P<m>{_MONTH})(?:,?[ -]{_YEAR})?\b", read_date)
    yield form(rf"\b(?P<m>{_MONTH}) {_DAY}(?!\d|[:.]\d| (?:a|p)\.?m)(?:,? {_YEAR})?\b", read_date)
    yield form(rf"\b(?P<m>{_MONTH}),?[ -](?:of )?{_YEAR}\b", read_date)
    yield form(r"(?<![\d.])(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4}|\d\d)(?![\d.])", read_date)
    yield form(r"(?<![\d/])(?P<d>\d{1,2})/(?P<m>\d{1,2})/(?P<y>\d{4})(?![\d/])", read_date)
    yield form(rf"\b(?:(?P<part>{_PARTS})[ -])?(?:the )?(?P<y>[12]\d\d0)s\b", _decade)
    yield form(rf"\b(?:(?P<part>{_PARTS})[ -])?(?:(?P<n>\d{{1,2}})(?:st|nd|rd|th)|(?P<w>{_ORDINAL_WORDS}))[ -]century\b", _century)  # fmt: skip
    yield form(rf"\b(?P<season>{'|'.join(SEASONS)})(?: of|,)? {_YEAR}\b", _season)
    yield form(rf"\b(?:[QH](?P<q>[1-4])|(?P<w>first|second|third|fourth) (?:quarter|half)(?: of)?)[ /-]{_YEAR}\b", _quarter)  # fmt: skip
    yield form(r"\b(?P<h>\d{1,2})(?:[:.h](?P<min>[0-5]\d))? ?(?P<half>[ap])(?:\.m\b\.?|m\b)", _clock)
    yield form(r"(?<![\w.:])(?P<h>\d{1,2})[:h](?P<min>[0-5]\d)(?![\w:])(?P<half>)", _clock)
    yield form(r"\b(?P<h>\d{1,2})(?P<min>)(?P<half>) ?o[’']clock\b", _clock)
    yield form(
        r"(?<=\bat )(?P<h>\d{1,2})\.(?P<min>[0-5]\d)(?P<half>)(?=\s*(?:$|[,;:?!]|\.(?!\d)|(?:in the|on|and|or|to|until)\b))",
        _clock,
    )
    yield form(rf"\b(?P<at>half past|(?:a )?quarter (?:past|to)) (?P<h>\d{{1,2}}|{ONES})\b(?:(?=[^.?!]{{0,20}}\b(?P<when>morning|afternoon|evening|night)))?", read_spoken_clock)  # fmt: skip
    yield form(r"\b(?:noon|midday)\b", lambda match: ("clock", point(720), False))
    yield form(r"\bmidnight\b", lambda match: ("clock", point(1440), False))
    yield form(r"\b(?:on )?(?:weekdays|working days)\b", lambda match: _each_day(*range(5)))
    yield form(r"\b(?:at |on )?(?:the )?weekends?\b", lambda match: _each_day(5, 6))
    yield form(r"\b(?:every ?day|daily|all week|seven days a week)\b", lambda match: _each_day(*range(7)))
    yield form(rf"\b(?:{_WEEKDAY})(?!\w)", _weekday)
    yield form(rf"(?<![\w.])(?P<c>{_MONEY_NAMES})\s?(?P<n>\(\d[\d.,]*\)|{NUMBER}(?:m\b|{SCALE}))(?!\w)", _money)
    yield form(rf"(?P<n>\(\d[\d.,]*\)|{NUMBER}{SCALE})\s?-?(?P<c>{_MONEY_NAMES})(?!\w)", _money)
    unit = "second|minute|hour|day|week|month|quarter|year"
    yield form(rf"\b(?P<t>once|twice|(?:{NUMBER}) times) (?:a|an|per|each|every) (?P<u>{unit})\b", _period)
    yield form(rf"\b(?P<t>)every (?P<u>{unit})\b", _period)
    yield form(rf"(?P<n>{NUMBER}|\bhalf an?|\ban?) (?P<u>hour|day|week|fortnight|month|year)s? and a half\b", _measure)
    yield form(r"(?<!\w)(?:aged|ages?|of age) (?P<n>\d+)(?: ?(?:to|-|–) ?(?P<to>\d+))?\b(?!\s?%)", _aged)
    yield form(rf"(?P<n>{NUMBER}{SCALE}|\bhalf an?|\ban?(?= (?:week|month|year|fortnight|mile|kilomet|met(?:re|er)\b|lit(?:re|er)|tonne|kilo)))[ -]?(?:full )?(?P<u>{_NAMED_UNITS})(?!\w)", _measure)  # fmt: skip
    yield form(rf"(?P<n>{NUMBER}{SCALE})[  -]?(?P<u>{_SYMBOLS})(?![\w])", _measure, 0)
    yield form(rf"\b(?:(?P<n>{ONES}|an?) )?(?P<f>half|thirds?|quarters?|fifths?|tenths?)(?= (?:of|the)\b)", _fraction)
    yield form(r"\b(?:version|release|ver\.?|v)[\s.]?(?P<v>\d+(?:[._]\d+)*)\b", _version)
    yield form(rf"\b(?P<l>{LABELS})\s(?P<n>\d+(?:\.\d+)*|[IVXLC]+)\b(?!\s?%)", _label)
    yield form(rf"\b(?:(?P<n>\d+)(?:st|nd|rd|th)|(?P<w>{_ORDINAL_WORDS})) (?P<noun>[^\W\d_]+)", _ordinal)
    yield form(r"\b(?P<v>\d+(?:\.\d+){2,3})(?![\w.]{0,40}\d)", _version)
    yield form(r"\b(?:in|since|of|for|from|until|till|by|before|after|during|year|around|about|between) (?P<y>1[5-9]\d\d|20\d\d)\b(?![-,.]\d)", read_bare_year)  # fmt: skip
    yield form(rf"(?P<m>(?<=\bin )(?:{_MONTH})|\b(?:{'|'.join(each for each in MONTHS if each not in ('march', 'may'))})|(?:(?<=\bfrom )|(?<=\buntil )|(?<=\bto )|(?<=\bby )|(?<=\bsince ))(?:march|may)|\b(?:march|may)(?= (?:to|until)\b))\b", read_date)  # fmt: skip
    yield form(rf"(?<!\d:)(?P<n>{NUMBER}{SCALE})(?!\w|:\d)(?:[ -](?P<noun>[^\W\d_]{{2,}}))?", read_count)


def is_word_one(match: re.Match[str]) -> bool:
    """Return whether a count is a lone "one" or "second", which is mostly no number."""
    return match["n"].strip().lower() == "one" and not content_terms(match["noun"] or "")
