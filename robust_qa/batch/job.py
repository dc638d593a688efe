"""A job: what the host hands an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from ..answering.session import Session
from ..answering.toolbox import Toolbox
from ..errors import InputError
from ..protocols import ReaderHandle, Relay, Runner
from ..types import Survey, Tally
from .layout import delimiter_of, described, source_name
from .output import OutFile
from .resume import NEW_RUN, State, retrieved
from .run import Answerer, choose_for_first
from .worker import SessionRecipe

Supervise = Callable[..., AbstractAsyncContextManager[None]]


@dataclass
class BatchJob:
    """Rows of `source` that sessions like `session` answer. The contract with engines is the protocol Job.

    `column`: the field with the question, "" to recognise it.
    `has_passages` says whether the rows bring passages. None: the first row decides. `how` has the flags of Answerer.
    `supervise` is called as `Job.supervised`, with the job before the other arguments.
    """

    session: Session
    source: str
    out: str | None
    column: str = ""
    resume: bool = False
    retry: bool = False
    force: bool = False
    ordered: bool = True
    jobs: int = 8
    strategy: str | None = None
    as_given: bool = False
    has_passages: bool | None = None
    how: Mapping[str, Any] = field(default_factory=dict)
    say: Callable[[str], None] = lambda text: None
    supervise: Supervise | None = None
    tally: Tally = field(default_factory=Tally)

    def __post_init__(self) -> None:
        self._chosen: tuple[str, Toolbox] | None = None
        self._delimiter = ","  # of CSV output: that of the input

    @cached_property
    def worker(self) -> Answerer:
        """A worker in this process, with the session."""
        answer = partial(self.session.answer, strategy=self.strategy, as_given=self.as_given)
        return Answerer(answer, jobs=self.jobs, **self.how)

    @property
    def reader(self) -> ReaderHandle | None:
        """The default reader, None if there is none."""
        return self.session.components.default("reader")

    @property
    def calls(self) -> int:
        """The number of calls to components in flight, without those of a relay."""
        return self.session.components.calls

    @contextmanager
    def relaying(self, relay: Relay) -> Iterator[None]:
        """Let `relay` make the calls of readers while inside."""
        self.session.components.relay = relay
        try:
            yield
        finally:
            self.session.components.relay = None

    @cached_property
    def recipe(self) -> SessionRecipe:
        """A recipe for workers in other processes."""
        return SessionRecipe.of(
            self.session, strategy=self.strategy, as_given=self.as_given, jobs=self.jobs, how=self.how
        )

    def plan(self, first: bytes | None, /, rows: int | None = None, kind: str = "JSON lines") -> None:
        """Check the configuration with the first row, None if there is no row. Say what the input is taken for."""
        if self.has_passages is not None:
            self._chosen = self._choose(has_passages=self.has_passages)
        elif first is not None:
            self._delimiter = delimiter_of(first)
            count = "" if rows is None else f", {rows:,} {'row' if rows == 1 else 'rows'}"
            self.say(f"{source_name(self.source)}: {described(first, kind)}{count}")
            self._chosen = choose_for_first(self._choose, first, self.say)

    def state(self, survey: Survey) -> bytes:
        """What the answers depend on, as JSON without secrets."""
        return msgspec.json.encode(self.state_of(survey))

    def state_of(self, survey: Survey) -> State:
        """The same, not yet as JSON."""
        session, chosen = self.session, self._chosen
        if chosen is None:
            return State.of(session.components.config, None, survey.digest)
        found = retrieved(session, *chosen, partial(self._choose, has_passages=False) if survey.lacking else None)
        judged = session.judged(chosen[0], chain(*found.values()))
        return State.of(session.components.config, chosen, survey.digest, found, judged=judged)

    def check_continues(self, stored: bytes, state: bytes, what: str) -> None:
        """Raise InputError if answers with the state `stored` do not belong to this run."""
        decode = msgspec.json.Decoder(State).decode
        try:
            before = decode(stored)
        except (msgspec.DecodeError, RecursionError) as error:
            raise InputError(f"{what} cannot be continued: its state is damaged.", hint=NEW_RUN) from error
        before.check_continues(decode(state), what, retry=self.retry)

    @contextmanager
    def file(self, state: bytes) -> Iterator[OutFile]:
        """Open `out`, to which JSON lines are written. Counts its failed rows at the end."""
        assert self.out is not None
        decoded = msgspec.json.decode(state, type=State)
        how = {"resume": self.resume, "retry": self.retry, "force": self.force}
        output = OutFile(Path(self.out), decoded, **how, delimiter=self._delimiter)
        if output.lost:
            self.say(f"the settings of the run that wrote {self.out} are lost; its rows stay if their questions match")
        try:
            try:
                yield output
            finally:  # also if the run was stopped
                output.render()
            self.tally.failed += output.failed
            self.tally.unreadable += output.unreadable
        finally:
            output.close()

    def supervised(self, runner: Runner, *, size: int | None, resumable: bool) -> AbstractAsyncContextManager[None]:
        """Show progress, and stop `runner` on Ctrl-C, while inside."""
        return self.supervise(self, runner, size=size, resumable=resumable) if self.supervise else nullcontext()

    def _choose(self, **how: Any) -> tuple[str, Toolbox]:
        return self.session.choose(strategy=self.strategy, as_given=self.as_given, **how)
