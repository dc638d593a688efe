"""Answer questions from a program with `Session`."""

from __future__ import annotations

from ..calls.trace import Watcher
from .configured import split_reader
from .context_window import estimate_tokens
from .history import History
from .session import Session, check_question, condensed

__all__ = [
    "History",
    "Session",
    "Watcher",
    "check_question",
    "condensed",
    "estimate_tokens",
    "split_reader",
]
