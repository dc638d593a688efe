"""Dates of passages, and the order of answers by them."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence

from ..types import Position

_ISO = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?![\d-]))?)?(?![\d-])")


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


def date_of(position: Position) -> str:
    """Return the newest date of the citations of a side, "" if none has a date."""
    return max((citation.date for citation in position.citations), default="")


def newest_first(positions: Sequence[Position]) -> tuple[Position, ...]:
    """Return the sides of a conflict with the chosen one first and the others by date, if all of these have dates."""
    others = [each for each in positions if not each.chosen]
    if all(map(date_of, others)):
        others.sort(key=date_of, reverse=True)
    return (*(each for each in positions if each.chosen), *others)
