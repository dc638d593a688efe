"""Answer questions from a program with `Session`."""

from __future__ import annotations

from .components import split_reader
from .session import Session

__all__ = [
    "Session",
    "split_reader",
]
