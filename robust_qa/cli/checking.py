"""Print the findings of `rqa plugins check`, and end a check that blocks the process."""

from __future__ import annotations

import faulthandler
import sys
from collections import Counter

import click

from ..errors import Exit
from ..sanitize import printable
from ..testing import Finding

_MARKS = {"passed": "ok     ", "failed": "FAILED ", "skipped": "skipped"}
_MARGIN = 2.0  # seconds after the timeout, in which asyncio can cancel the check itself


class Report:
    """Prints findings on stdout. Create it before stdout is redirected, and use it as a context manager.

    A component that blocks the event loop for longer than `seconds` cannot be cancelled: the process then prints where
    it hangs, and ends with code 1.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._out = sys.stdout  # redirected while plugins run
        self._states: Counter[str] = Counter()

    def __enter__(self) -> Report:
        self.begin()
        return self

    def __exit__(self, *_: object) -> None:
        faulthandler.cancel_dump_traceback_later()

    def begin(self) -> None:
        """Start the timeout of a check. The timer also works while C code holds the GIL."""
        faulthandler.dump_traceback_later(self._seconds + _MARGIN, exit=True, file=2)

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
