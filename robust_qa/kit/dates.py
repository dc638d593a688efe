"""Dates in ISO form, and the order of the sides of a conflict by their dates."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence

from ..types import Position

_ISO = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?![\d-]))?)?(?![\d-])")

_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}
_AGO = re.compile(r"(\d{1,5})\s*([dwmy])(?:ays?|eeks?|onths?|ears?)?(?: ago)?")


def iso_date(text: str) -> str:
    """Return the date at the beginning of `text` as YYYY, YYYY-MM or YYYY-MM-DD, "" if there is none."""
    match = _ISO.match(text.strip().strip("\"'"))
    if match is None:
        return ""
    year, month, day = (int(part or 1) for part in match.groups())
    try:
        datetime.date(year, month, day)
    except ValueError:
        return ""
    return match[0]


def day_named(text: str, today: datetime.date) -> str:
    """Return the date that a person means, such as "6 May 2025", "last week" or "7d", as `iso_date` does, else ""."""
    named = {"today": "0d", "yesterday": "1d", "last week": "1w", "last month": "1m", "last year": "1y"}
    if match := _AGO.fullmatch(named.get(text.strip().lower(), text.strip().lower())):
        return (today - datetime.timedelta(int(match[1]) * _DAYS[match[2]])).isoformat()
    for form in ("%d %B %Y", "%d %b %Y", "%B %d, %Y", "%B %d %Y", "%d.%m.%Y", "%B %Y", "%b %Y"):
        try:
            found = datetime.datetime.strptime(text.strip(), form).date()
        except ValueError:
            continue
        return found.isoformat() if "%d" in form else f"{found:%Y-%m}"
    return text if iso_date(text) == text else ""


def date_of(position: Position) -> str:
    """Return the newest date of the citations of a side, "" if none has a date."""
    return max((citation.date for citation in position.citations), default="")


def newest_first(positions: Sequence[Position]) -> tuple[Position, ...]:
    """Return the sides of a conflict with the chosen one first and the others by date, if all of these have dates."""
    others = [each for each in positions if not each.chosen]
    if all(map(date_of, others)):
        others.sort(key=date_of, reverse=True)
    return (*(each for each in positions if each.chosen), *others)
