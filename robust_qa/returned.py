"""Whether a component returned what it promised, said so that its author is the one who is told."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, get_args
from uuid import UUID

import msgspec

from .text import whole_characters
from .types import Answer, Passage, Reading, Usage

_SLACK = 1e-3  # sums of floats end a little beside a bound
# What msgspec would write as text, which is no text: bytes in base64, and these in a form of their own.
_NO_TEXT = (bytes, bytearray, memoryview, UUID, Decimal, datetime, date, time, timedelta)


def misfit(result: Any, promised: Any, arguments: Sequence[Any] = ()) -> str:
    """What is wrong with `result` where a type, or a list of one, was promised; empty when nothing is.

    A Reading's positions, and the number of scores, are held against the texts in `arguments`.
    """
    return fitted(result, promised, arguments)[1]


def fitted(result: Any, promised: Any, arguments: Sequence[Any] = ()) -> tuple[Any, str]:
    """`result` as the cache will give it, and what is wrong with it.

    A whole number may stand for a float, and a dict for what a result is made of; halves of surrogate pairs are U+FFFD.
    """
    of = get_args(promised)
    if not of:
        fitting, wrong = _converted(result, promised)
        return fitting, wrong or _beyond(fitting, arguments)
    if not isinstance(result, list):
        return None, f"{_named(type(result))}, and not a list"
    if of[0] is float and len(result) != len(arguments[1]):
        return None, f"{len(result)} scores for {len(arguments[1])} texts"
    found = []
    for item in result:
        fitting, wrong = _converted(item, of[0])
        if wrong:
            return None, f"a list that holds {wrong}"
        found.append(fitting)
    return found, ""


def _converted(item: Any, promised: type) -> tuple[Any, str]:
    if not isinstance(item, int if promised is float and isinstance(item, int) else promised):
        return None, f"{_named(type(item))}, and not {_named(promised)}"
    try:
        plain = msgspec.to_builtins(item, builtin_types=_NO_TEXT, enc_hook=_plain)
        fitting: Any = msgspec.convert(plain if _is_writable(plain) else _whole(plain), promised)
    except (msgspec.ValidationError, TypeError, RecursionError) as error:
        return None, f"{_named(promised)} that is out of order: {error}"
    return fitting, _out_of_range(fitting)


def _plain(item: Any) -> Any:
    """The number or text that an instance of a subclass is, such as those of NumPy and of parsers."""
    for kind in (float, str):
        if isinstance(item, kind):
            return kind(item)
    raise TypeError(f"it holds {_named(type(item))}")


def _is_writable(plain: Any) -> bool:
    try:
        msgspec.json.encode(plain)
    except UnicodeEncodeError:
        return False
    return True


def _whole(plain: Any) -> Any:
    """`plain` with whole characters, where its text is broken input that nobody could write down."""
    if isinstance(plain, str):
        return whole_characters(plain)
    if isinstance(plain, dict):
        whole: dict[Any, Any] = {}
        for key, value in plain.items():  # of keys that then look alike the first, as the likeliest of a token's
            whole.setdefault(_whole(key), _whole(value))
        return whole
    return list(map(_whole, plain)) if isinstance(plain, list | tuple) else plain


def _out_of_range(item: Any) -> str:
    for what, value, least in _numbers(item):
        if not least - _SLACK <= value <= 1 + _SLACK:  # nan is in no range
            return f"{what} of {value:g}, and not one from {least} to 1"
    if isinstance(item, Passage) and not math.isfinite(item.score):
        return f"a passage with a score of {item.score:g}"
    usage = getattr(item, "usage", None)
    if isinstance(usage, Usage) and min(usage.calls, usage.prompt_tokens, usage.completion_tokens) < 0:
        return f"a usage of less than nothing: {usage}"
    return ""


def _numbers(item: Any) -> Iterator[tuple[str, float, int]]:
    """What of a result has a range: what it is, its value, and the least that it may be; the most is 1."""
    if isinstance(item, int | float):
        yield "a score", item, -1
    if isinstance(item, Reading) and item.score is not None:
        yield "a confidence", item.score, 0
    if isinstance(item, Answer):
        told = (item.confidence, *(position.confidence for position in item.conflicts))
        yield from (("a confidence", value, 0) for value in told if value is not None)


def _beyond(result: Any, arguments: Sequence[Any]) -> str:
    if not isinstance(result, Reading):
        return ""
    number = len(arguments[1])
    pointed = (position for reading in (result, *result.rivals) for position in reading.passages)
    beyond = next((position for position in pointed if not 0 <= position < number), None)
    return "" if beyond is None else f"a Reading that points at passage {beyond} of {number}, counted from 0"


def _named(kind: type) -> str:
    if kind is type(None):
        return "None"
    return f"{'an' if kind.__name__[0] in 'AEIOaeio' else 'a'} {kind.__name__}"
