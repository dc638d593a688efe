"""A recipe for sessions in other processes: the configuration, plugins and keys of a session, as data."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from ..calls.limits import Limits
from ..config import keys as secrets
from ..config.key import Key
from ..config.layers import Config
from ..config.trusted_files import leaves
from ..config.values import Layer
from ..errors import ConfigError
from ..host.loading import Host
from ..types import ANSWERING_KINDS, Kind
from .session import Session


@dataclass(frozen=True, repr=False)
class Recipe:
    """Opens sessions with the settings of one, in any process of any machine. It can be pickled.

    It contains API keys: never write it to a file or a log. What files the configuration may use was decided where it
    was loaded. Paths in it must exist on the other machine, too.
    """

    config: Config
    host: Host
    plugins: Sequence[tuple[str, ...]]
    keys: dict[str, Key]
    limits: Mapping[tuple[Kind, str], Limits]  # those with `rpm` or `concurrency`
    of_session: Mapping[str, Any]  # other arguments of Session

    @property
    def most(self) -> int | None:
        """The number of sessions that each get at least one call of every limited component, None without limits."""
        return min((each.concurrency for each in self.limits.values() if each.concurrency), default=None)

    @asynccontextmanager
    async def open(self, number: int, count: int) -> AsyncIterator[Session]:
        """Open session `number` (from 0) of `count`, with its share of the rate and concurrency limits.

        Raises ConfigError if this process has other plugins.
        """
        if (here := _loaded(self.host)) != self.plugins:
            different = sorted({name for name, *_ in set(here) ^ set(self.plugins)})
            raise ConfigError(
                f"This worker has other versions of these plugins than the command: {', '.join(different)}.",
                hint="Install the same packages on all machines, and the files of --plugin at the same paths.",
            )
        secrets.use(self.keys)
        config = Config([self._share_of_limits(number, count), *self.config.layers])
        async with Session(config, self.host, **self.of_session) as session:
            yield session

    def _share_of_limits(self, number: int, count: int) -> Layer:
        tree: dict[str, Any] = {}
        for (kind, name), limits in self.limits.items():
            table = tree.setdefault(kind, {}).setdefault(name, {})
            if limits.rpm:
                table["rpm"] = limits.rpm / count
            if limits.concurrency:
                table["concurrency"] = share(limits.concurrency, number, count)
        return Layer(f"the share of worker {number + 1} of {count}", tree)


def recipe_of(session: Session) -> Recipe:
    """Return the recipe for sessions like `session`."""
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
    return Recipe(components.config, components.host, plugins, keys, limits, of_session)


def share(total: int, number: int, count: int) -> int:
    """Return the part of `total` that falls to `number` of `count`, at least 1."""
    return max(total // count + (number < total % count), 1)


def _keys(options: Any) -> Iterator[Key]:
    for each in () if options is None else dataclasses.fields(options):
        yield from (leaf for leaf in leaves(getattr(options, each.name)) if isinstance(leaf, Key))


def _loaded(host: Host) -> list[tuple[str, ...]]:
    return [(p.name, p.distribution, p.version) for p in host.plugins if p.state == "loaded"]
