"""Show a question while it is answered: the current step on stderr, and the answer as the model writes it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from ..sanitize import printable, single_line
from .progress import can_draw, redraw

if TYPE_CHECKING:
    from rich.console import Console

_STEPS_AFTER = 0.3  # seconds


class Live:
    """A watcher that draws on the terminal. `shown` is the part of the answer that is on the screen.

    `steps`: show the current step on stderr, on one line that disappears. `streaming`: print the answer on stdout.
    """

    def __init__(self, *, steps: bool, streaming: bool) -> None:
        self.shown = ""
        self.streaming = streaming
        self._steps = steps and can_draw()
        self._out: Console | None = None
        self._step = ""
        self._drawing = False

    def step(self, what: str) -> None:
        """Show what is being done."""
        self._step = what
        if self._drawing:
            redraw(single_line(what))

    def answer(self, text: str) -> None:
        """Print what is new in the answer so far. Prints nothing if the model has changed what is on the screen."""
        text = printable(text)
        if text.startswith(self.shown):
            self._erase()
            self._print(text[len(self.shown) :])
            self.shown = text

    @asynccontextmanager
    async def drawing(self) -> AsyncIterator[None]:
        """Draw steps from 0.3 s on, and erase them at the end."""
        timer = asyncio.get_running_loop().call_later(_STEPS_AFTER, self._begin) if self._steps else None
        try:
            yield
        finally:
            if timer:
                timer.cancel()
            self._erase()

    def end(self, answer: str) -> str:
        """Return the part of the answer that is on the screen. If another one is there, end its lines and return ""."""
        if self.shown and not printable(answer).startswith(self.shown):
            self._print("\n\n")
            self.shown = ""
        return self.shown

    def _print(self, text: str) -> None:
        from rich.text import Text

        from .output import console

        self._out = self._out or console()
        self._out.print(Text(text, style="bold"), end="", soft_wrap=True)
        sys.stdout.flush()

    def _begin(self) -> None:
        self._drawing = not self.shown
        if self._drawing:
            redraw(single_line(self._step))

    def _erase(self) -> None:
        """Erase the step, and draw no further ones."""
        if self._drawing:
            self._drawing = False
            redraw()
