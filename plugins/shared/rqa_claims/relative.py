"""Relative times, such as "last Friday", worked out from the date of the document that says them."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta

from .units import DAYS, NUMBER_WORDS

_NUMBER = rf"(?P<n>\d+|an?|{'|'.join(NUMBER_WORDS)})"
_DAY = rf"(?P<day>{'|'.join(DAYS)})"
_UNIT = "(?P<unit>day|week|month|year)s?"


def _weekday(match: re.Match[str], on: date) -> date:
    """Return the day of the week before `on`, or after it."""
    number = DAYS.index(match["day"].lower())
    if match["way"].lower() == "last":
        return on - timedelta((on.weekday() - number - 1) % 7 + 1)
    return on + timedelta((number - on.weekday() - 1) % 7 + 1)


def _distance(match: re.Match[str], on: date, sign: int) -> str:
    text = match["n"].lower()
    number = sign * (int(text) if text.isdigit() else NUMBER_WORDS.get(text, 1))
    return _moved(on, match["unit"].lower(), number, exact=True)


def _moved(on: date, unit: str, number: int, *, exact: bool = False) -> str:
    """Return `on` so many units later: as a day, a month or a year, as exact as the unit is."""
    if unit in ("day", "week"):
        return _day(on + timedelta(number * (7 if unit == "week" else 1))) if exact else ""
    months = on.year * 12 + on.month - 1 + number * (12 if unit == "year" else 1)
    return f"{date(months // 12, months % 12 + 1, 1):%B %Y}" if unit == "month" else str(months // 12)


def _day(on: date) -> str:
    return f"{on.day} {on:%B %Y}"


_FORMS: tuple[tuple[str, Callable[[re.Match[str], date], str]], ...] = (
    ("the day before yesterday", lambda _, on: _day(on - timedelta(2))),
    ("the day after tomorrow", lambda _, on: _day(on + timedelta(2))),
    ("yesterday", lambda _, on: _day(on - timedelta(1))),
    ("today|tonight|this (?:morning|afternoon|evening)", lambda _, on: _day(on)),
    ("tomorrow", lambda _, on: _day(on + timedelta(1))),
    (rf"(?P<way>last|next) {_DAY}", lambda match, on: _day(_weekday(match, on))),
    (rf"last {_UNIT}", lambda match, on: _moved(on, match["unit"].lower(), -1)),
    (rf"next {_UNIT}", lambda match, on: _moved(on, match["unit"].lower(), 1)),
    (rf"{_NUMBER} {_UNIT} ago", lambda match, on: _distance(match, on, -1)),
    (rf"in {_NUMBER} {_UNIT}", lambda match, on: _distance(match, on, 1)),
)
_TIMES = tuple((re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE), work_out) for pattern, work_out in _FORMS)


def worked_out_times(text: str, on: str) -> str:
    """Return the relative times of `text`, each with its date as of a document of the day `on`, YYYY-MM-DD.

    "" if there is none, or if the document has no day.
    """
    try:
        day = date.fromisoformat(on)
    except ValueError:
        return ""
    found = [(match[0], work_out(match, day)) for pattern, work_out in _TIMES for match in pattern.finditer(text)]
    return "; ".join(f"{words} is {told}" for words, told in found if told)
