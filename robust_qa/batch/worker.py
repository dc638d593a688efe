"""Answer rows in another process, with the settings of this one."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from ..answering.session import Session
from ..calls.limits import Limits
from ..config import keys as secrets
from ..config.keys import Key
from ..config.layers import Config
from ..config.trusted_files import leaves
from ..config.values import Layer
from ..errors import ConfigError
from ..types import ANSWERING_KINDS, Kind
from .run import Answerer

if TYPE_CHECKING:
    from ..host.loading import Host


@dataclass(frozen=True, repr=False)
class SessionRecipe:
    """A session's configuration, plugins and keys, and how to answer rows with it. Contains secrets.

    What files the configuration may use was decided where it was loaded. Paths in it must exist on the worker's
    machine too.
    """

    config: Config
    host: Host
    plugins: Sequence[tuple[str, ...]]
    overrides: Mapping[tuple[Kind, str], Mapping[str, Any]]
    keys: dict[str, Key]
    limits: Mapping[tuple[Kind, str], Limits]  # those with `rpm` or `concurrency`
    prefer_retriever: bool
    detailed: bool
    strategy: str | None
    as_given: bool
    in_flight: int
    how: Mapping[str, Any]

    @classmethod
    def of(
        cls, session: Session, *, strategy: str | None, as_given: bool, jobs: int, how: Mapping[str, Any]
    ) -> SessionRecipe:
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
        return cls(
            components.config,
            components.host,
            _loaded(components.host),
            components.overrides,
            secrets.for_worker(used),
            limits,
            session.prefer_retriever,
            session.detailed,
            strategy,
            as_given,
            jobs,
            how,
        )

    @property
    def max_workers(self) -> int:
        """The number of workers that get at least one question and one call of each limited component."""
        return min([self.in_flight, *(limits.concurrency for limits in self.limits.values() if limits.concurrency)])

    def jobs(self, number: int, count: int) -> int:
        """The questions that worker `number` of `count` may have in flight."""
        return _share(self.in_flight, number, count)

    @asynccontextmanager
    async def open(self, number: int, count: int) -> AsyncIterator[Answerer]:
        """Worker `number` of `count`, for this process. Raises ConfigError if it has other plugins."""
        if (here := _loaded(self.host)) != self.plugins:
            different = sorted({name for name, *_ in set(here) ^ set(self.plugins)})
            raise ConfigError(
                f"This worker has other versions of these plugins than the command: {', '.join(different)}.",
                hint="Install the same packages on all machines, and the files of --plugin at the same paths.",
            )
        secrets.use(self.keys)
        config = Config([self._share_of_limits(number, count), *self.config.layers])
        async with Session(
            config,
            self.host,
            detailed=self.detailed,
            prefer_retriever=self.prefer_retriever,
            overrides=self.overrides,
        ) as session:
            answer = partial(session.answer, strategy=self.strategy, as_given=self.as_given)
            jobs = self.jobs(number, count)
            yield Answerer(answer, jobs=jobs, warnings=lambda: session.trouble, **self.how)

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
