"""Warnings from calls and strategies that succeeded only in part."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_heard: ContextVar[list[str] | None] = ContextVar("remarks", default=None)


PLAIN_TEXT = "A reply did not have the form that the model was asked for, so rqa used its plain text."


class LastingWarning(str):
    """A remark on what will be lacking next time, too."""


def warn(text: str, *, lasting: bool = False) -> None:
    """Tell what the call under way has to do without, such as a page that could not be reached.

    The trace shows it, and the result is not cached unless it is `lasting`: what is lacking now may be there next
    time. A strategy is in no call: its warnings go to stderr, once for all questions.
    """
    if (heard := _heard.get()) is not None:
        heard.append(LastingWarning(text) if lasting else text)


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Collects the remarks made inside, by whatever task or thread."""
    heard: list[str] = []
    token = _heard.set(heard)
    try:
        yield heard
    finally:
        _heard.reset(token)
