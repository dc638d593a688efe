"""Answer rows with a session: in this process, or in another one with the same settings."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from robust_qa import InputError, PluginError, RqaError, UnavailableError, Usage
from robust_qa.answering import Recipe, Session, passes, share

from .protocols import Result
from .rows import ParsedRow, parse_row


class SessionWorker:
    """Answers rows with `session`, `jobs` at once. `how` and `written`: those of `answer` and `ParsedRow.answered`."""

    def __init__(self, session: Session, jobs: int, how: Mapping[str, Any], written: Mapping[str, Any]) -> None:
        self._session = session
        self._how = how
        self._written = written
        self._slots = asyncio.Semaphore(jobs)
        self._postponed: Result | None = None

    async def answer(self, number: int, line: bytes) -> Result:
        """The result of a row. Its line is None if the provider asks for too long a pause, as are all after it."""
        async with self._slots:
            if self._postponed is None:
                result = await self._answer(number, line)
                if result.line is None:
                    self._postponed = result
                return result
        return replace(self._postponed, number=number, usage=Usage())

    async def _answer(self, number: int, line: bytes) -> Result:
        row, spent = ParsedRow(number, {}), Usage()
        try:
            row = parse_row(line, number)
            # A task of its own, so that the caller survives a strategy that cancels it.
            answer = await asyncio.ensure_future(self._session.answer(row.question(), **self._how))
            spent = answer.usage
            return Result(number, row.answered(answer, **self._written), answer.text is None, spent)
        except RqaError as error:
            failure = error
        except BaseException as error:  # one row must not end the run
            if passes(error) or isinstance(error, SystemExit):
                raise
            failure = PluginError(f"The row failed with {type(error).__name__}: {error}.")
            failure.usage = spent
        postponed = isinstance(failure, UnavailableError) and failure.limited and failure.general
        return Result(
            number,
            None if postponed else row.failed(failure, passages=self._written["passages"]),
            usage=failure.usage,
            error=failure.message or failure.kind,
            hint=failure.hint,
            general=failure.general,
            unreadable=isinstance(failure, InputError),
        )

    def warnings(self) -> str:
        """Warnings of the session, one a line."""
        return self._session.trouble


@dataclass(frozen=True, repr=False)
class RowRecipe:
    """A recipe for sessions, and how to answer rows with them. Contains secrets."""

    sessions: Recipe
    jobs: int
    how: Sequence[Mapping[str, Any]]  # how to answer, and what is written of an answer

    @property
    def max_workers(self) -> int:
        """The number of workers that get at least one question and one call of each limited component."""
        return min(self.jobs, self.sessions.most or self.jobs)

    @asynccontextmanager
    async def open(self, number: int, count: int) -> AsyncIterator[SessionWorker]:
        """Worker `number` of `count`, for this process. Raises ConfigError if it has other plugins."""
        async with self.sessions.open(number, count) as session:
            yield SessionWorker(session, share(self.jobs, number, count), *self.how)
