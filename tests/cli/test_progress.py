"""Progress on stderr, on terminals that can redraw a line and on those that cannot."""

import asyncio
import io
import sys
import time
from contextlib import suppress

import pytest

from robust_qa.cli import progress
from robust_qa.cli.run import Run
from rqa_rows import progress as batch_progress
from rqa_rows.run import Tally


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def dumb(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal that cannot redraw a line. Progress is printed at once."""
    monkeypatch.setenv("TERM", "dumb")
    for module in (progress, batch_progress):
        monkeypatch.setattr(module, "_LINE_EVERY", 0.0)  # otherwise the first line takes seconds
    return Terminal()


def test_a_batch_prints_plain_lines_on_a_dumb_terminal(dumb: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    async def watched() -> None:
        with suppress(TimeoutError):
            watching = batch_progress.watch(Run(), Tally(), answers_on_terminal=False)
            await asyncio.wait_for(watching, 0.5)

    monkeypatch.setattr(sys, "stderr", dumb)
    asyncio.run(watched())
    assert "rqa: 0 rows" in dumb.getvalue() and "\x1b" not in dumb.getvalue()


def test_indexing_prints_plain_lines_on_a_dumb_terminal(dumb: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", dumb)
    with progress.indexing_progress(Run()) as tell:
        assert tell is not None
        tell(1, 2, 3)
        tell(2, 2, 5, 4)
    assert dumb.getvalue() == "rqa: read 1 of 2 files, 3 passages\nrqa: embedded 4 of 5 passages\n"


def test_plain_lines_of_indexing_say_the_time_left(dumb: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", dumb)
    clock = iter([0.0, 30.0, 60.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    with progress.indexing_progress(Run()) as tell:
        assert tell is not None
        tell(100, 1000, 3)
        tell(200, 1000, 6)
    assert dumb.getvalue().endswith("rqa: read 200 of 1,000 files, 6 passages, about 0:04:00 left\n")


def test_indexing_has_a_bar_for_reading_and_one_for_embedding(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "_BAR_AFTER", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with progress.indexing_progress(Run()) as tell:
        assert tell is not None
        tell(2, 2, 5)
        for embedded in (1, 2, 4):  # the time left needs a pace
            time.sleep(0.25)
            tell(2, 2, 5, embedded)
    assert "read 2 of 2 files, 5 passages" in screen.getvalue()
    assert "embedded 4 of 5 passages" in screen.getvalue() and "left" in screen.getvalue()


def test_ctrl_c_during_indexing_says_what_is_done(dumb: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "stderr", dumb)

    def interrupted() -> None:
        with progress.indexing_progress(Run()) as tell:
            assert tell is not None
            tell(2, 2, 5, 4)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert "interrupted: embedded 4 of 5 passages. Run the same command again to finish" in dumb.getvalue()
