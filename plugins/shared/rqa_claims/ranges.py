"""Ranges, lists and bounds: what the words between and around single values make of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from math import inf, nextafter

from robust_qa.kit import content_terms

from .numbers import NUMBER, SCALE, exact, number_in
from .units import CURRENCIES, LESS, MORE, UNITS
from .values import Span, Value

_TO = re.compile(r"\s*(?:-|–|—|to|until|till|through|up to)\s*", re.IGNORECASE)
_AND = re.compile(r"\s*(?:,|and|or|&|/|, and|, or)\s*", re.IGNORECASE)
_EXCEPT = re.compile(r"\W*\b(?:except|but not|other than|excluding|apart from)(?: (?:for|on))?\s*", re.IGNORECASE)
_RANGED = ("weekday", "clock", "date", "yearday", "label", "version")
_STRICT = {**dict.fromkeys(MORE, 1), **dict.fromkeys(LESS, -1)}
_COMPARED = re.compile(
    rf"\b(?P<no>not? )?(?P<strict>{'|'.join(sorted(_STRICT, key=len, reverse=True))})(?: an?)?\s*$", re.IGNORECASE
)
_LEAST = re.compile(r"\b(?:at least|a minimum of|minimum(?: of)?|min\.?)\s*$", re.IGNORECASE)
_MOST = re.compile(
    r"\b(?:at most|up to|no later than|not later than|a maximum of|maximum(?: of)?|max\.?"
    r"|within)\s*$",
    re.IGNORECASE,
)
_FROM = re.compile(r"\bfrom\s*$", re.IGNORECASE)
_SINCE = re.compile(r"\b(?:since|as of|starting(?: on)?)\s*$", re.IGNORECASE)
_BY = re.compile(r"\bby\s*$", re.IGNORECASE)
_UNTIL = re.compile(r"\b(?:until|till|through)\s*$", re.IGNORECASE)
_BEFORE = re.compile(r"\b(?:before|earlier than)\s*$", re.IGNORECASE)
_AFTER = re.compile(r"\b(?:after|later than)\s*$", re.IGNORECASE)
_ABOUT = re.compile(r"(?:\b(?:about|around|approximately|approx\.?|circa|ca?\.|roughly|some)|~|≈)\s*$", re.IGNORECASE)
_NEARLY = re.compile(r"\b(?:nearly|almost|just under)\s*$", re.IGNORECASE)
_OR_MORE = re.compile(r"^(?:\s*\+|\s*(?:or|and) (?:more|over|older|longer|above|later)\b)", re.IGNORECASE)
_ONWARDS = re.compile(r"^ (?:on|onwards)\b", re.IGNORECASE)
_OR_LESS = re.compile(r"^\s*(?:or|and) (?:less|fewer|under|younger|below|earlier)\b", re.IGNORECASE)
_HOURS = re.compile(r"\b(?:open|opens|hours|from|between|daily|days?)\b[^.;\d]{0,24}$", re.IGNORECASE)
_AGES = re.compile(
    r"\b(?:aged?|ages|child(?:ren)?|pupils?|people|pages?|rooms?|nos?|items?)\b[^.;]{0,12}$", re.IGNORECASE
)
_HEADER = re.compile(r"(?:^|[\s_(\[/])([^\W\d_]+|[$€£%°][CF]?)[)\]]?:\s*$")
_YEARS = 1826  # days around a date that is told with "about"
_APPROXIMATE = 0.05  # of a value that is told with "about"


def with_unit_of_header(value: Value, text: str) -> Value:
    """Return a number of a cell with the unit or the noun of its header: "price_gbp: 52.50", "Seats: 36"."""
    header = _HEADER.search(text, max(0, value.start - 40), value.start) if value.kind == "number" else None
    if header is None or value.text != text[value.start : value.end]:
        return value
    name = header[1]
    if currency := CURRENCIES.get(name.lower()):
        return replace(value, kind=f"money {currency}")
    noun = next(iter(content_terms(name)), "")
    kind, size, added = UNITS.get(name) or UNITS.get(name.lower(), (f"number {noun}".rstrip(), 1.0, 0.0))
    spans = tuple((exact(low * size + added), exact(high * size + added)) for low, high in value.spans)
    return replace(value, kind=kind, spans=spans)


def joined(found: Sequence[Value], text: str) -> list[Value]:
    """Join ranges, lists and exceptions."""
    kept: list[Value] = []
    for each in found:
        if kept and (joined := _join(kept[-1], each, text)):
            kept[-1] = joined
        else:
            kept.append(each)
    return [_hours(each, text) for each in kept]


def _join(one: Value, other: Value, text: str) -> Value | None:
    gap = text[one.end : other.start]
    if len(gap) > 16:
        return None
    between = gap.strip().lower() == "and" and text[max(0, one.start - 10) : one.start].rstrip().lower().endswith(
        "between"
    )
    if _TO.fullmatch(gap) or between:
        return _range(one, other, text)
    if one.kind == other.kind == "weekday":
        if _EXCEPT.fullmatch(gap):
            spans = tuple(span for span in one.spans if span not in other.spans)
            return _over(one, other, text, spans=spans, throughout=True)
        if _AND.fullmatch(gap):
            spans = tuple(sorted({*one.spans, *other.spans}))
            return _over(one, other, text, spans=spans, throughout="or" not in gap)
    if one.kind == other.kind == "clock" and _AND.fullmatch(gap):
        return _over(one, other, text, spans=tuple(sorted({*one.spans, *other.spans})), throughout="or" not in gap)
    return None


def _over(one: Value, other: Value, text: str, *, spans: tuple[Span, ...], throughout: bool) -> Value:
    return Value(one.kind, spans, text[one.start : other.end], one.start, other.end, throughout)


def _range(one: Value, other: Value, text: str) -> Value | None:
    """Return the range from one value to the other. A number without a unit has that of the other one."""
    kind, low, high = other.kind, one.spans[0][0], other.spans[-1][1]
    if one.kind != other.kind:
        if one.kind == "number" and other.kind in ("date", "yearday") and low <= 31:  # 3 to 5 April
            low = other.spans[0][0] - (_day_of(other) - low)
        elif one.kind == "number":
            low = exact(low * _factor(other))
        elif other.kind == "number":
            kind, high = one.kind, exact(high * _factor(one))
        elif one.kind == "yearday" and other.kind == "date":  # 3 April to 5 May 2024
            first = date.fromordinal(int(other.spans[0][0])).replace(month=int((low - 1) // 31), day=1)
            low = float(first.toordinal() + int(low - 1) % 31)
        else:
            return None
    if kind == "weekday":
        numbers = [each % 7 for each in range(int(low), int(high) + (1 if high >= low else 8))]
        spans = tuple((float(each), float(each)) for each in sorted(numbers))
        return replace(_over(one, other, text, spans=spans, throughout=True), kind=kind)
    if kind == "clock" and high < low:
        high += 1440
    if high < low:
        return None
    return replace(_over(one, other, text, spans=((low, high),), throughout=kind.split()[0] in _RANGED), kind=kind)


def _day_of(value: Value) -> float:
    first = value.spans[0][0]
    return float(date.fromordinal(int(first)).day) if value.kind == "date" else (first - 1) % 31 + 1


def _factor(value: Value) -> float:
    """Return the size of the unit in which a value is written."""
    number = re.search(rf"{NUMBER}{SCALE}", value.text, re.IGNORECASE)
    size = number_in(number[0], money=value.kind.startswith("money")) if number else 0.0
    return value.spans[0][0] / size if size else 1.0


def _hours(value: Value, text: str) -> Value:
    """Return "10 to 17" as hours where the words before it speak of them."""
    low, high = value.spans[0]
    if value.kind == "number" and low < high <= 24 and low == int(low) and high == int(high):
        before = text[max(0, value.start - 60) : value.start]
        if _HOURS.search(before) and not _AGES.search(before):
            return replace(value, kind="clock", spans=((low * 60, high * 60),), throughout=True)
        return replace(value, throughout=bool(_AGES.search(before)))
    return value


def bounded(value: Value, text: str) -> Value:
    """Return a value with the bound before or after it: more than, at least, up to, before, about."""
    if value.kind == "weekday" or value.kind.startswith(("label", "ordinal")):
        return value
    before, after = text[max(0, value.start - 40) : value.start], text[value.end : value.end + 24]
    low, high = value.spans[0][0], value.spans[-1][1]
    is_day = value.kind in ("date", "yearday")
    is_time = is_day or value.kind == "clock"
    above = high + 1 if is_day else nextafter(high, inf)
    below = low - 1 if is_day else nextafter(low, -inf)
    margin = _YEARS if value.kind == "date" else _APPROXIMATE * abs(low)

    def bound(span: Span, start: int, end: int, *, throughout: bool = False) -> Value:
        return replace(
            value, spans=(span,), text=text[start:end], start=start, end=end, throughout=throughout, either=False
        )

    if match := _COMPARED.search(before):
        more = _STRICT[match["strict"].lower()] > 0
        span = ((-inf, high) if more else (low, inf)) if match["no"] else ((above, inf) if more else (-inf, below))
        return bound(span, value.start - len(before) + match.start(), value.end)
    rules = (  # pattern, of times alone, span, throughout
        (_LEAST, False, (low, inf), False),
        (_MOST, False, (-inf, high), False),
        (_AFTER, True, (above, inf), False),
        (_BEFORE, True, (-inf, below), False),
        (_BY, True, (-inf, high), False),
        (_UNTIL, True, (-inf, high), True),
        (_SINCE, True, (low, inf), True),
        (_ABOUT, False, (low - margin, high + margin), False),
        (_NEARLY, False, (low - 2 * margin, below), False),
    )
    for pattern, of_times, span, throughout in rules:
        if (is_time or not of_times) and (match := pattern.search(before)):
            return bound(span, value.start - len(before) + match.start(), value.end, throughout=throughout)
    if value.kind == "duration" and (match := _FROM.search(before)):  # of an age: from 14 years
        return bound((low, inf), value.start - len(before) + match.start(), value.end, throughout=True)
    if is_time and _ONWARDS.search(after) and (match := _FROM.search(before)):
        return bound((low, inf), value.start - len(before) + match.start(), value.end, throughout=True)
    for pattern, span in ((_OR_MORE, (low, inf)), (_OR_LESS, (-inf, high))):
        if match := pattern.search(after):
            return bound(span, value.start, value.end + match.end())
    return value
