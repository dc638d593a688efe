"""A job: what the host hands an engine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from ..answering.components import Plan
from ..answering.session import Session
from ..errors import InputError
from ..protocols import Runner
from ..types import Tally
from .output import NEW_RUN, OutFile
from .resume import State, lacks_passages, retrieved
from .run import Answerer, plan_for_first
from .worker import SessionRecipe

Attend = Callable[..., AbstractAsyncContextManager[None]]


class BatchJob:
    """The rows of `source`, to be answered by sessions like `session` and written to `out`.

    `has_passages` says whether the rows bring passages. None: the first row decides. `how` has the flags of Answerer.
    `attend` shows the progress and handles signals, see `Job.attended`.
    """

    def __init__(
        self,
        session: Session,
        source: str,
        out: str | None,
        *,
        say: Callable[[str], None],
        attend: Attend,
        resume: bool = False,
        retry: bool = False,
        force: bool = False,
        ordered: bool = True,
        jobs: int = 8,
        strategy: str | None = None,
        as_given: bool = False,
        has_passages: bool | None = None,
        how: Mapping[str, Any] | None = None,
    ) -> None:
        self.source = source
        self.out = out
        self.resume = resume
        self.retry = retry
        self.force = force
        self.ordered = ordered
        self.jobs = jobs
        self._how = how or {}
        self.tally = Tally()
        self.say = say
        self._session = session
        self._strategy = strategy
        self._as_given = as_given
        self._has_passages = has_passages
        self._attend = attend
        self._plan: Plan | None = None

    @cached_property
    def worker(self) -> Answerer:
        """A worker in this process, with the session."""
        answer = partial(self._session.answer, strategy=self._strategy, as_given=self._as_given)
        return Answerer(answer, jobs=self.jobs, **self._how)

    @cached_property
    def recipe(self) -> SessionRecipe:
        """What workers in other processes are made from."""
        return SessionRecipe.of(
            self._session, strategy=self._strategy, as_given=self._as_given, jobs=self.jobs, output=self._how
        )

    def plan(self, first: bytes | None) -> None:
        """Check the configuration with the first row, None if there is no row."""
        if self._has_passages is not None:
            self._plan = self._planned(has_passages=self._has_passages)
        elif first is not None:
            self._plan = plan_for_first(self._planned, first, self.say)

    def state(self, digest: str | None, *, lacking: bool) -> bytes:
        """What the answers depend on, as JSON without secrets."""
        return msgspec.json.encode(self.run_state(digest, lacking=lacking))

    def run_state(self, digest: str | None, *, lacking: bool) -> State:
        """The same as a State."""
        session, plan = self._session, self._plan
        if plan is None:
            return State.of(session.assembly.config, None, digest)
        found = retrieved(session, plan, partial(self._planned, has_passages=False) if lacking else None)
        judged = session.judged(plan.name, chain(*found.values()))
        return State.of(session.assembly.config, plan, digest, found, judged=judged)

    def check_continues(self, stored: bytes, state: bytes, what: str) -> None:
        """Raise InputError if answers with the state `stored` do not belong to this run."""
        decode = msgspec.json.Decoder(State).decode
        try:
            changes = decode(stored).changes(decode(state), retry=self.retry)
        except (msgspec.DecodeError, RecursionError) as error:
            raise InputError(f"{what} cannot be continued: its state is damaged.", hint=NEW_RUN) from error
        if changes:
            raise InputError(
                f"{what} cannot be continued: {'; '.join(changes)}.",
                hint=f"Use the same input and configuration as before. {NEW_RUN}",
            )

    def lacks_passages(self, line: bytes) -> bool:
        """Whether the row is valid and has no passages."""
        return lacks_passages(line)

    @contextmanager
    def file(self, state: bytes) -> Iterator[OutFile]:
        """Open `out`, a JSON lines file. Counts its failed rows at the end."""
        assert self.out is not None
        decoded = msgspec.json.decode(state, type=State)
        output = OutFile(Path(self.out), decoded, resume=self.resume, retry=self.retry, force=self.force)
        try:
            yield output
            self.tally.failed += output.failed
            self.tally.unreadable += output.unreadable
        finally:
            output.close()

    @asynccontextmanager
    async def attended(self, runner: Runner, *, size: int | None, resumable: bool) -> AsyncIterator[None]:
        """Show progress, and stop `runner` on Ctrl-C, while inside. Afterwards print the summary."""
        async with self._attend(self, runner, size=size, resumable=resumable):
            yield

    def _planned(self, **how: Any) -> Plan:
        return self._session.plan(strategy=self._strategy, as_given=self._as_given, **how)
