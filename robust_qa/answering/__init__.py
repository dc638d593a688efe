"""Answer questions from a program with `Session`."""

from __future__ import annotations

from ..calls.watching import Watcher
from .components import split_reader
from .context_window import estimate_tokens
from .conversation import condensed
from .history import History
from .session import Session, check_question

__all__ = [
    "History",
    "Session",
    "Watcher",
    "check_question",
    "condensed",
    "estimate_tokens",
    "split_reader",
]
