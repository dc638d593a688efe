"""Watch a question while it is answered: its steps, and its answer as the language model writes it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

Preview = Callable[[str], str]
"""Returns the answer in the first part of a reply, "" while there is none to show."""

_EVERY = 0.03  # seconds: finding the answer in a long reply for each token would cost more than the token


class Watcher(Protocol):
    """Watches one question. Its methods are called in the event loop, and must not block."""

    @property
    def streaming(self) -> bool:
        """Whether the answer is wanted while it is written."""

    def step(self, what: str, /) -> None:
        """A call began, or the strategy recorded a decision."""

    def answer(self, text: str, /) -> None:
        """The answer so far. It is provisional: the strategy may still give another one."""


class Unfolding:
    """Collects the pieces of a reply and shows the answer in it."""

    def __init__(self, preview: Preview, show: Callable[[str], None]) -> None:
        self._preview = preview
        self._show = show
        self._reply = self._shown = ""
        self._looked = 0.0

    def add(self, piece: str) -> None:
        """Add a piece to the reply."""
        self._reply += piece
        if (now := time.monotonic()) - self._looked < _EVERY:
            return
        self._looked = now
        text = self._preview(self._reply)
        if text and text != self._shown:
            self._shown = text
            self._show(text)
