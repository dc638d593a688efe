"""Retriever expressions: a name, and how many passages to take from it (`notes@10`)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .errors import ExpressionError

_EXPRESSION = re.compile(r"\s*(?P<name>[A-Za-z][\w-]*)\s*(?:@\s*(?P<k>[0-9]{1,9})\s*)?")


@dataclass(frozen=True, slots=True)
class Expression:
    """A retriever's name, and the number of passages asked of it; None: as configured."""

    name: str | None
    k: int | None = None


def parse(text: str) -> Expression:
    """Parse `name` or `name@k`; nothing at all leaves both open. ExpressionError shows where it goes wrong."""
    if not text:
        return Expression(None)
    match = _EXPRESSION.match(text)
    end = match.end() if match else 0
    if match is None or end < len(text):
        raise ExpressionError(
            f"This is no retriever expression:\n  {text}\n  {' ' * end}^",
            hint="Write a retriever's name, or name@k for its first k passages.",
        )
    k = match["k"]
    if k is not None and not 1 <= int(k) <= 10_000:
        raise ExpressionError(f"{text!r} asks for {k} passages; ask for 1 to 10000.")
    return Expression(match["name"], int(k) if k else None)
