"""Values and how two of them relate: numbers, money, measures, dates, times, days of the week, versions.

A value is a set of points on the axis of its kind: "25 litres" is one point, "more than 20 litres" all above 20, "in
2019" all days of that year. What two texts say of each other is then a question of sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum

Span = tuple[float, float]


class Relation(StrEnum):
    """What the value of a text says of the value of a claim."""

    EQUAL = "equal"
    IMPLIED = "implied"  # the text is more exact: 25 litres are more than 20
    WITHIN = "within"  # the claim is more exact: 25 litres may be what "more than 20" means
    OVERLAPPING = "overlapping"
    EXCLUDED = "excluded"
    INCOMPARABLE = "incomparable"  # another currency, or things that cannot be converted


@dataclass(frozen=True, slots=True)
class Value:
    """A value as it is written in characters `start` to `end`: points of `spans`, in the base unit of its `kind`.

    It holds `throughout` its spans, as opening hours do, or is somewhere in them, as a price of 20 to 30 euros is.
    Where the notation of a country decides, as in 4.200 and 05/03/2024, it is `either` of its spans.
    Days are numbered as by `date.toordinal`, times of day in minutes.
    """

    kind: str
    spans: tuple[Span, ...]
    text: str
    start: int
    end: int
    throughout: bool = False
    either: bool = False

    @property
    def iso(self) -> str:
        """A date as YYYY, YYYY-MM or YYYY-MM-DD, "" if it is no such date."""
        if self.kind != "date" or len(self.spans) != 1 or not all(1 <= each <= _LAST for each in self.spans[0]):
            return ""
        first, last = (date.fromordinal(int(each)) for each in self.spans[0])
        if first == last:
            return first.isoformat()
        if (first.year, first.month) == (last.year, last.month) and first.day == 1:
            return f"{first:%Y-%m}"
        return f"{first:%Y}" if first.year == last.year and (first.month, last.month) == (1, 12) else ""

    @property
    def key(self) -> str:
        """The value in one form, as words: equal values have equal keys."""
        if self.iso:
            return self.iso.replace("-", " ")
        return " ".join([*(f"{one:.12g}" for span in self.spans for one in dict.fromkeys(span)), self.kind])


_LAST = date.max.toordinal()


def relate(claimed: Value, told: Value) -> Relation:
    """Return what the value `told` by a text says of the value that is `claimed`."""
    if claimed.either or told.either:
        readings = (relate(one, other) for one in _readings(claimed) for other in _readings(told))
        return min(readings, key=list(Relation).index)
    one, other = claimed.spans, told.spans
    if claimed.kind != told.kind:
        kinds = {claimed.kind.partition(" ")[0], told.kind.partition(" ")[0]}
        if kinds == {"number"}:  # of other things: 40 seats and 40 people may be the same
            bare = "number" in (claimed.kind, told.kind)
            return Relation.EQUAL if one == other else Relation.EXCLUDED if bare else Relation.INCOMPARABLE
        if kinds != {"date", "yearday"}:
            return Relation.INCOMPARABLE
        if claimed.kind == "date":
            one = _days_of_year(one)
            return Relation.WITHIN if one and _inside(one, other) else Relation.EXCLUDED
        other = _days_of_year(other)
    if one == other:
        return Relation.EQUAL
    if not any(low <= last and first <= high for low, high in one for first, last in other):
        return Relation.EXCLUDED
    if _inside(other, one):
        if not claimed.throughout:
            return Relation.IMPLIED
        return Relation.EXCLUDED if told.throughout else Relation.OVERLAPPING
    if _inside(one, other):
        return Relation.IMPLIED if told.throughout else Relation.WITHIN
    return Relation.EXCLUDED if claimed.throughout and told.throughout else Relation.OVERLAPPING


def _readings(value: Value) -> list[Value]:
    return [replace(value, spans=(span,), either=False) for span in value.spans] if value.either else [value]


def _inside(inner: Sequence[Span], outer: Sequence[Span]) -> bool:
    return all(any(low <= first and last <= high for low, high in outer) for first, last in inner)


def _days_of_year(spans: Sequence[Span]) -> tuple[Span, ...]:
    """Return spans of dates without their year, none for more than a year."""
    found = []
    for span in spans:
        if span[1] - span[0] > 366 or not all(1 <= each <= _LAST for each in span):
            return ()
        first, last = (date.fromordinal(int(each)) for each in span)
        found.append((day_of_year(first.month, first.day), day_of_year(last.month, last.day)))
    return tuple(found)


def day_of_year(month: int, day: int) -> float:
    return float(month * 31 + day)
