"""Print the findings of `rqa plugins check`, and end a check that blocks the process."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import wait

import click

from ..calls.concurrency import in_daemon
from ..errors import Exit
from ..sanitize import printable
from ..testing import Finding, conformance

_MARKS = {"passed": "ok     ", "failed": "FAILED ", "skipped": "skipped"}
_MARGIN = 2.0  # seconds after the timeout, in which asyncio can cancel the check itself


class Report(conformance.Report):
    """Prints findings on stdout. Create it before stdout is redirected."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._out = sys.stdout  # redirected while plugins run
        self._states: Counter[str] = Counter()
        self.begin("it can be built")

    def begin(self, name: str) -> None:
        """Start the timeout of the check `name`."""
        self._name, self._deadline = name, time.monotonic() + self._seconds + _MARGIN

    def watch(self, work: Callable[[], None]) -> None:
        """Do `work` in a thread. If that stops for longer than a check may take, add a failure and leave it behind."""
        future = in_daemon(work)
        while not wait([future], max(0, self._deadline - time.monotonic())).done:
            if time.monotonic() >= self._deadline:
                why = f"it blocks and cannot be stopped after {self._seconds:g} seconds"
                hint = "In an `async def`, await what takes long, or write a plain `def`, which runs in a thread."
                return self.found(Finding(self._name, "failed", f"{why}. {hint}"))
        return future.result()

    def found(self, finding: Finding) -> None:
        """Print a finding."""
        self._states[finding.state] += 1
        detail = f": {printable(finding.detail)}" if finding.detail else ""
        click.echo(f"{_MARKS[finding.state]} {finding.name}{detail}", file=self._out)
        self._out.flush()

    def finish(self, subject: str) -> Exit:
        """Print the summary. Return the exit code."""
        counts = ", ".join(f"{count} {state}" for state, count in sorted(self._states.items()))
        click.echo(f"{subject}: {counts}", err=True)
        return Exit.FAILED if self._states["failed"] else Exit.ANSWERED
