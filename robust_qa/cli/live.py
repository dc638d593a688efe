"""Show a question while it is answered: the current step on stderr, and the answer as the model writes it."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import click

from ..sanitize import printable, single_line
from .output import console, is_markdown

_STEPS_AFTER = 0.3  # seconds


def can_draw() -> bool:
    """Return whether stderr is a terminal that can redraw a line."""
    return sys.stderr.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


def redraw(line: str = "") -> None:
    """Draw `line` on stderr in place of the last one, as far as it fits: a second line cannot be redrawn."""
    width = (os.get_terminal_size(sys.stderr.fileno()).columns or 80) if line else 1
    click.echo(f"\r\x1b[K{line[: width - 1]}", nl=False, err=True)


class Live:
    """A watcher that draws on the terminal. `shown` is the part of the answer that is on the screen.

    `steps`: show the current step on stderr, on one line that disappears. `streaming`: print the answer on stdout.
    """

    def __init__(self, *, steps: bool, streaming: bool) -> None:
        self.shown = ""
        self.streaming = streaming
        self.steps = steps and can_draw()
        self._out = console() if streaming else None  # on this stdout: for plugins it is stderr soon
        self._step = ""
        self._drawing = False
        self._began = time.monotonic()

    def step(self, what: str) -> None:
        """Show what is being done, until the next step with the seconds that it takes."""
        self._step, self._began = what, time.monotonic()
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
        drawing = asyncio.create_task(self._draw()) if self.steps else None
        try:
            yield
        finally:
            if drawing:
                drawing.cancel()
            self._erase()

    def end(self, answer: str) -> str:
        """Return the part of the answer that is on the screen.

        It was provisional: it is erased if it is another answer or Markdown, or if the terminal broke its words. What
        is longer than the screen cannot be erased, and the answer follows below.
        """
        if self._out is None or not self.shown:
            return self.shown
        from rich.cells import cell_len

        width, height = self._out.size
        rows = [max(1, -(-cell_len(line) // width)) for line in self.shown.split("\n")]
        is_other = not printable(answer).startswith(self.shown)
        if sum(rows) < height and self._out.is_terminal and not self._out.is_dumb_terminal:
            if is_other or max(rows) > 1 or is_markdown(answer):
                up = f"\x1b[{sum(rows) - 1}A" if sum(rows) > 1 else ""
                self._out.file.write(f"\r{up}\x1b[J")
                self.shown = ""
        elif is_other:
            self._print("\n\n")
            self.shown = ""
        return self.shown

    def _print(self, text: str) -> None:
        from rich.text import Text

        assert self._out
        self._out.print(Text(text, style="bold"), end="", soft_wrap=True)
        self._out.file.flush()

    async def _draw(self) -> None:
        await asyncio.sleep(_STEPS_AFTER)
        self._drawing = not self.shown
        while self._drawing:
            seconds = int(time.monotonic() - self._began)
            redraw(single_line(f"{self._step} · {seconds} s" if seconds else self._step))
            await asyncio.sleep(1)

    def _erase(self) -> None:
        """Erase the step, and draw no further ones."""
        if self._drawing:
            self._drawing = False
            redraw()
