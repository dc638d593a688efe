"""Progress on stderr, on terminals that can redraw a line and on those that cannot."""

import asyncio
import fcntl
import io
import os
import pty
import select
import struct
import sys
import termios
from contextlib import suppress

import pytest

from robust_qa.batch.run import Tally
from robust_qa.cli import progress
from robust_qa.cli.run import Run


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def dumb(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal that cannot redraw a line. Progress is printed at once."""
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(progress, "_LINE_EVERY", 0.0)
    return Terminal()


def test_a_batch_prints_plain_lines_on_a_dumb_terminal(dumb: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    async def watched() -> None:
        with suppress(TimeoutError):
            watching = progress.watch(Run(), Tally(), None, answers_on_terminal=False)
            await asyncio.wait_for(watching, 0.5)

    monkeypatch.setattr(sys, "stderr", dumb)
    asyncio.run(watched())
    assert "rqa: 0 rows" in dumb.getvalue() and "\x1b" not in dumb.getvalue()


def test_lines_get_rarer_while_no_row_finishes(dumb: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    async def watched() -> None:
        watching = asyncio.create_task(progress.watch(Run(), tally, None, answers_on_terminal=False))
        await asyncio.sleep(1.0)  # lines after 0.05, 0.15, 0.35 and 0.75 s
        waiting.append(dumb.getvalue().count("rqa:"))
        while dumb.getvalue().count("rqa:") < 10:
            tally.answered += 1
            await asyncio.sleep(0.01)
        watching.cancel()

    tally, waiting = Tally(), list[int]()
    monkeypatch.setattr(progress, "_LINE_EVERY", 0.05)
    monkeypatch.setattr(progress, "_UPDATE_EVERY", 0.01)
    monkeypatch.setattr(sys, "stderr", dumb)
    asyncio.run(asyncio.wait_for(watched(), 10))
    assert 1 <= waiting[0] <= 4


def test_indexing_prints_plain_lines_on_a_dumb_terminal(dumb: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", dumb)
    with progress.indexing_progress(Run()) as tell:
        assert tell is not None
        tell(1, 2, 3)
    assert dumb.getvalue().startswith("rqa: indexed 1 of 2 files, 3 passages, ")


def test_the_indexing_bar_fits_on_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    line = "\r\x1b[Kindexing: 100/1000 files, 1000000 passa\r\x1b[K"
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, 40, 0, 0))  # lines and columns
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "_BAR_AFTER", 0.0)
    with os.fdopen(theirs, "w") as terminal, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", terminal)
        with progress.indexing_progress(Run()) as tell:
            assert tell is not None
            tell(100, 1_000, 1_000_000)
        shown = ""
        while len(shown) < len(line) and select.select([ours], [], [], 5)[0]:  # it comes in pieces on a busy machine
            shown += os.read(ours, 10_000).decode()
    os.close(ours)
    assert shown.startswith(line)
