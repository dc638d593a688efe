"""Threads that go on when those who waited for them have left: nothing stops one inside an engine."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any
from weakref import WeakSet

_left: WeakSet[Future[Any]] = WeakSet()


def leave(future: Future[Any]) -> None:
    """Nobody waits for what `future` stands for."""
    _left.add(future)


def any_left() -> bool:
    """Whether something that nobody waits for still runs, so that a process which ends by itself would not end."""
    return any(not future.done() for future in _left)
