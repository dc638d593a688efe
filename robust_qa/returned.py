"""Whether a component returned what it promised, said so that its author is the one who is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import msgspec

from .types import Reading


def misfit(result: Any, promised: Any, arguments: Sequence[Any] = ()) -> str:
    """What is wrong with `result` where a type, or a list of one, was promised; empty when nothing is.

    A Reading's positions, and the number of scores, are held against the texts in `arguments`.
    """
    of = get_args(promised)
    if not of:
        return _misfit(result, promised) or _beyond(result, arguments)
    if not isinstance(result, list):
        return f"{_named(type(result))}, and not a list"
    if of[0] is float and len(result) != len(arguments[1]):
        return f"{len(result)} scores for {len(arguments[1])} texts"
    return next((f"a list that holds {wrong}" for item in result if (wrong := _misfit(item, of[0]))), "")


def _misfit(item: Any, promised: type) -> str:
    if not isinstance(item, int if promised is float and isinstance(item, int) else promised):
        return f"{_named(type(item))}, and not {_named(promised)}"
    try:
        msgspec.convert(msgspec.to_builtins(item), promised)
    except (msgspec.ValidationError, TypeError, RecursionError) as error:
        return f"{_named(promised)} that is out of order: {error}"
    return ""


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
