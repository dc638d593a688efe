"""Answer questions from a program with `Session`."""

from __future__ import annotations

from ..calls.watching import Watcher
from .components import split_reader
from .session import Session

__all__ = [
    "Session",
    "Watcher",
    "split_reader",
]
