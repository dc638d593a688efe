"""Whether a component returned what it promised, said so that its author is the one who is told."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, get_args

import msgspec

from .types import Answer, Passage, Reading, Usage

_SLACK = 1e-3  # sums of floats end a little beside a bound


def misfit(result: Any, promised: Any, arguments: Sequence[Any] = ()) -> str:
    """What is wrong with `result` where a type, or a list of one, was promised; empty when nothing is.

    A Reading's positions, and the number of scores, are held against the texts in `arguments`.
    """
    return fitted(result, promised, arguments)[1]


def fitted(result: Any, promised: Any, arguments: Sequence[Any] = ()) -> tuple[Any, str]:
    """`result` as the cache will give it, and what is wrong with it: a whole number may stand for a float."""
    of = get_args(promised)
    if not of:
        fitting, wrong = _converted(result, promised)
        return fitting, wrong or _out_of_range(result) or _beyond(result, arguments)
    if not isinstance(result, list):
        return None, f"{_named(type(result))}, and not a list"
    if of[0] is float and len(result) != len(arguments[1]):
        return None, f"{len(result)} scores for {len(arguments[1])} texts"
    found = []
    for item in result:
        fitting, wrong = _converted(item, of[0])
        if wrong := wrong or _out_of_range(item):
            return None, f"a list that holds {wrong}"
        found.append(fitting)
    return found, ""


def _converted(item: Any, promised: type) -> tuple[Any, str]:
    if not isinstance(item, int if promised is float and isinstance(item, int) else promised):
        return None, f"{_named(type(item))}, and not {_named(promised)}"
    try:
        return msgspec.convert(msgspec.to_builtins(item), promised), ""
    except (msgspec.ValidationError, TypeError, RecursionError) as error:
        return None, f"{_named(promised)} that is out of order: {error}"


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
