"""Answer questions from a program with `Session`."""

from __future__ import annotations

from .session import Session

__all__ = [
    "Session",
]
