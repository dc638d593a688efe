"""The values in a text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from .forms import forms, is_word_one, read_bare_year, read_count, read_date, read_spoken_clock
from .numbers import with_digits
from .ranges import bounded, joined, with_unit_of_header
from .values import Value

_UNIT_WORDS = re.compile(
    r"^(?:(?:in|of|for|from|since|by|until|till|before|after|during|year|around|about|between|on|at) )+", re.I
)
_THOUSANDS = re.compile(r"(?<![\d.,])[1-9]\d{0,2}\.\d{3}(?![\d.,])")  # 4200 where the comma is decimal, else 4.2
_ITEM = re.compile(r"(?:(?<![^\n])|(?<=\n ))\d{1,3}[.)]\s")  # the number of an item of a list
_EXACT = ("money", "date", "yearday", "clock", "version", "label")


@lru_cache(maxsize=8192)
def values(text: str) -> tuple[Value, ...]:
    """Return the values in `text`, in order. Ranges, lists and bounds are one value each."""
    found: list[Value] = []
    taken = bytearray(len(text))
    for pattern, read in forms():
        for match in pattern.finditer(text):
            start, end = match.span("n") if read is read_count else match.span()
            start += len(lead[0]) if read is read_bare_year and (lead := _UNIT_WORDS.match(match[0])) else 0
            is_mark = read is read_count and (is_word_one(match) or _ITEM.match(text, start) is not None)
            if any(taken[start:end]) or is_mark:
                continue
            if (said := read(match)) is None:
                continue
            taken[start:end] = b"\1" * (end - start)
            kind, spans, throughout = said
            if read in (read_date, read_spoken_clock) and len(spans) > 1:
                found.append(Value(kind, spans, text[start:end], start, end, either=True))
            elif _THOUSANDS.search(match[0]) and kind.split()[0] not in _EXACT:
                spans = (*spans, *((low * 1000, high * 1000) for low, high in spans))
                found.append(Value(kind, spans, text[start:end], start, end, either=True))
            else:
                found.append(Value(kind, spans, text[start:end], start, end, throughout))
    found.sort(key=lambda each: each.start)
    return tuple(bounded(with_unit_of_header(each, text), text) for each in joined(found, text))


def dates(text: str) -> list[Value]:
    """Return the dates in `text` that name a month of a year, in order."""
    return [each for each in values(text) if "-" in each.iso]


def without(text: str, told: Iterable[Value]) -> str:
    """Return `text` with a blank in place of each of its values `told`."""
    for each in sorted(told, key=lambda value: -value.start):
        text = f"{text[: each.start]} {text[each.end :]}"
    return text


def with_normal_values(text: str) -> str:
    """Return `text` with its values in one form, so that "two years" and "24 months" are the same words."""
    for each in reversed(values(text)):
        text = f"{text[: each.start]}{each.key}{text[each.end :]}"
    return with_digits(text)
