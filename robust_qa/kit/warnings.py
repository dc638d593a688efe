"""Warnings from calls and strategies that succeeded only in part."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# The warnings of the innermost block, then of those around it: of a call, and of the question that it is for.
_collected: ContextVar[tuple[list[str], ...]] = ContextVar("warnings", default=())

PLAIN_TEXT = "did not have the form that the model was asked for, so rqa used the plain text."


class LastingWarning(str):
    """A warning whose cause will still exist at the next call."""


def warn(text: str, *, lasting: bool = False, shown: bool = False) -> None:
    """Warn that the current call succeeded only in part, for example without a page that could not be fetched.

    The trace shows the warning. A result is cached only if all its warnings are `lasting`, because a later call may
    succeed in full. A strategy is outside calls: its warnings go to stderr, once for all questions, as do those of
    calls that are `shown`.
    """
    for warnings in _collected.get() if shown else _collected.get()[:1]:
        warnings.append(LastingWarning(text) if lasting else text)


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Collect the warnings of the block and of the tasks and threads that it starts."""
    warnings: list[str] = []
    token = _collected.set((warnings, *_collected.get()))
    try:
        yield warnings
    finally:
        _collected.reset(token)
