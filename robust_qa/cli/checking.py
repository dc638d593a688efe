"""Print the findings of `rqa plugins check` and stop a check that hangs."""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence

import click

from ..errors import Exit
from ..sanitize import printable
from ..testing import Finding

_MARKS = {"passed": "ok     ", "failed": "FAILED ", "skipped": "skipped"}
_MARGIN = 1.0  # seconds after the timeout, in which asyncio can cancel the check itself


class Report:
    """Prints findings on stdout. Ends the process if a check runs longer than `seconds`.

    Create it before stdout is redirected and use it as a context manager. `subject` begins the summary.
    `last` returns the findings to print at the end.
    """

    def __init__(self, subject: str, seconds: float, last: Callable[[], Sequence[Finding]]) -> None:
        self.subject = subject
        self._seconds = seconds
        self._last = last
        self._out = sys.stdout  # redirected while plugins run
        self._states: Counter[str] = Counter()
        self._plan: list[str] = []
        self._current = ""
        self._deadline = 0.0
        self._over = threading.Event()
        self._lock = threading.Lock()

    def __enter__(self) -> Report:
        self._threads = {*threading.enumerate()}
        self.begin("it loads and builds")
        threading.Thread(target=self._watch, name="rqa-check", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        faulthandler.cancel_dump_traceback_later()

    def planned(self, names: Sequence[str]) -> None:
        """Set the names of the following checks."""
        self._plan = [*names]

    def begin(self, name: str) -> None:
        """Start the timeout of a check."""
        with self._lock:
            self._current = name
            self._deadline = time.monotonic() + self._seconds + _MARGIN
        # C code that holds the GIL also blocks the watching thread. This timer runs without the GIL.
        faulthandler.dump_traceback_later(self._seconds + 3 * _MARGIN, exit=True, file=2)

    def found(self, finding: Finding) -> None:
        """Print a finding."""
        with self._lock:
            self._print(finding)

    def finish(self) -> Exit:
        """Print the last findings and the summary. Return the exit code."""
        self._over.set()
        with self._lock:
            return self._summarise()

    def leave(self, code: Exit) -> None:
        """End the process if the component left threads running, because Python would wait for them."""
        left = [thread for thread in threading.enumerate() if thread not in self._threads and not thread.daemon]
        if left:
            sys.stderr.flush()
            os._exit(code)

    def _summarise(self) -> Exit:
        for finding in self._last():
            self._print(finding)
        counts = ", ".join(f"{count} {state}" for state, count in sorted(self._states.items()))
        click.echo(f"{self.subject}: {counts}", err=True)
        return Exit.FAILED if self._states["failed"] else Exit.ANSWERED

    def _print(self, finding: Finding) -> None:
        self._states[finding.state] += 1
        if finding.name in self._plan:
            self._plan.remove(finding.name)
        detail = f": {printable(finding.detail)}" if finding.detail else ""
        click.echo(f"{_MARKS[finding.state]} {finding.name}{detail}", file=self._out)
        self._out.flush()

    def _watch(self) -> None:
        while not self._over.wait(max(self._deadline - time.monotonic(), 0.01)):
            with self._lock:
                if time.monotonic() >= self._deadline:
                    self._give_up()

    def _give_up(self) -> None:
        why = f"it takes longer than {self._seconds:g} seconds; allow more time with --timeout"
        try:
            self._print(Finding(self._current, "failed", why))
            for name in [*self._plan]:
                self._print(Finding(name, "skipped", "the check above did not finish"))
            self._summarise()
        finally:
            os._exit(Exit.FAILED)
