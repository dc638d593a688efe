"""Answer rows with a session: in this process, or in another one with the same settings."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..answering.session import Session
from ..calls.contract import passes
from ..calls.limits import Limits
from ..config import keys as secrets
from ..config.keys import Key
from ..config.layers import Config
from ..config.trusted_files import leaves
from ..config.values import Layer
from ..errors import ConfigError, InputError, PluginError, RqaError, UnavailableError
from ..protocols import Result
from ..types import ANSWERING_KINDS, Kind, Usage
from .rows import Row, parse_row

if TYPE_CHECKING:
    from ..host.loading import Host


class SessionWorker:
    """Answers rows with `session`, `jobs` at once. `how` and `written`: arguments of `answer` and `Row.answered`."""

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
        row, spent = Row(number, {}), Usage()
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
class SessionRecipe:
    """A session's configuration, plugins and keys, and how to answer rows with it. Contains secrets.

    What files the configuration may use was decided where it was loaded. Paths in it must exist on the worker's
    machine too.
    """

    config: Config
    host: Host
    plugins: Sequence[tuple[str, ...]]
    keys: dict[str, Key]
    limits: Mapping[tuple[Kind, str], Limits]  # those with `rpm` or `concurrency`
    of_session: Mapping[str, Any]  # other arguments of Session
    jobs: int
    how: Sequence[Mapping[str, Any]]  # how to answer, and what is written of an answer

    @classmethod
    def of(cls, session: Session, jobs: int, *how: Mapping[str, Any]) -> SessionRecipe:
        """The recipe for sessions like `session`."""
        components = session.components
        used: list[Key] = []
        limits = {}
        for kind in ANSWERING_KINDS:
            for name in components.config.names(kind):
                with suppress(ConfigError):  # the table of an unused component may be invalid
                    part = components.component(kind, name)
                    used += _keys(part.options)
                    if part.limits.rpm or part.limits.concurrency:
                        limits[kind, name] = part.limits
        of_session = {
            "detailed": session.detailed,
            "prefer_retriever": session.prefer_retriever,
            "overrides": components.overrides,
        }
        keys, plugins = secrets.for_worker(used), _loaded(components.host)
        return cls(components.config, components.host, plugins, keys, limits, of_session, jobs, how)

    @property
    def max_workers(self) -> int:
        """The number of workers that get at least one question and one call of each limited component."""
        return min([self.jobs, *(limits.concurrency for limits in self.limits.values() if limits.concurrency)])

    @asynccontextmanager
    async def open(self, number: int, count: int) -> AsyncIterator[SessionWorker]:
        """Worker `number` of `count`, for this process. Raises ConfigError if it has other plugins."""
        if (here := _loaded(self.host)) != self.plugins:
            different = sorted({name for name, *_ in set(here) ^ set(self.plugins)})
            raise ConfigError(
                f"This worker has other versions of these plugins than the command: {', '.join(different)}.",
                hint="Install the same packages on all machines, and the files of --plugin at the same paths.",
            )
        secrets.use(self.keys)
        config = Config([self._share_of_limits(number, count), *self.config.layers])
        async with Session(config, self.host, **self.of_session) as session:
            yield SessionWorker(session, _share(self.jobs, number, count), *self.how)

    def _share_of_limits(self, number: int, count: int) -> Layer:
        tree: dict[str, Any] = {}
        for (kind, name), limits in self.limits.items():
            table = tree.setdefault(kind, {}).setdefault(name, {})
            if limits.rpm:
                table["rpm"] = limits.rpm / count
            if limits.concurrency:
                table["concurrency"] = _share(limits.concurrency, number, count)
        return Layer(f"the share of worker {number + 1} of {count}", tree)


def _share(total: int, number: int, count: int) -> int:
    """The part of `total` that falls to `number` of `count`, at least 1."""
    return max(total // count + (number < total % count), 1)


def _keys(options: Any) -> Iterator[Key]:
    for each in () if options is None else dataclasses.fields(options):
        yield from (leaf for leaf in leaves(getattr(options, each.name)) if isinstance(leaf, Key))


def _loaded(host: Host) -> list[tuple[str, ...]]:
    return [(p.name, p.distribution, p.version) for p in host.plugins if p.state == "loaded"]
