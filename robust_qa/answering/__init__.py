"""To answer questions from a program: a session over the configured components."""

from __future__ import annotations

from .session import Session

__all__ = [
    "Session",
]
