"""The components that a configuration names: which plugin, with what options, built and checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

from msgspec import Meta

from . import expressions, settings
from .calls import RESERVED, Limits
from .config import Config, Layer, Table, Value
from .errors import ConfigError, PluginError, RqaError
from .host import Host, Registration
from .types import Kind

GIVEN = "given"  # the retriever that stands for the question's own passages
_PLUGIN = frozenset({"plugin"})
PLUGIN_FAULT = "This is a fault of the plugin; RQA_DEBUG=1 shows where."


@dataclass(frozen=True, slots=True)
class Defaults:
    """The table [defaults]: what is used when the command line names nothing else."""

    strategy: str | None = None  # a strategy; default: the most robust one that the reader can run
    retriever: str | None = None  # a retriever, or name@k
    reader: str | None = None  # a reader
    evaluator: str | None = None  # an evaluator
    k: Annotated[int, Meta(ge=1, le=10_000)] = 10  # passages a question retrieves


@dataclass(frozen=True, slots=True)
class Part:
    """One component before it is built: its registration, the host's limits for it, its options (None without)."""

    registration: Registration
    limits: Limits
    options: Any

    def build(self) -> Any:
        """A new instance."""
        with self.blaming():
            factory = self.registration.factory
            return factory() if self.registration.options is None else factory(self.options)

    @contextmanager
    def blaming(self) -> Iterator[None]:
        """Names the plugin in whatever unforeseen goes wrong inside."""
        try:
            yield
        except RqaError:
            raise
        except Exception as error:
            raise PluginError(
                f"{self.registration.kind.capitalize()} {self.registration.name!r} of plugin "
                f"{self.registration.plugin.name} cannot be built: {type(error).__name__}: {error}.",
                hint=PLUGIN_FAULT,
            ) from error


class Assembly:
    """What `config` says of the components of `host`.

    `overrides` are option values by component ("retriever", name) that no file holds, such as the index of
    `--docs`.
    """

    def __init__(
        self, config: Config, host: Host, *, overrides: Mapping[tuple[Kind, str], Mapping[str, Any]] | None = None
    ) -> None:
        self.config = config
        self.host = host
        self._overrides = overrides or {}

    @cached_property
    def defaults(self) -> Defaults:
        """The table [defaults]."""
        return settings.build(Defaults, self.config.table("defaults"))

    @property
    def retriever(self) -> expressions.Expression:
        """The retriever that [defaults] asks for."""
        return expressions.parse(self.defaults.retriever or "")

    def part(self, kind: Kind, name: str) -> Part:
        """The component of that name, as [kind.name] or else its plugin's defaults say.

        ConfigError says what is wrong with the table, or that there is no such component.
        """
        table = self._table(kind, name)
        registration = self._registration(kind, name, table)
        reserved = _PLUGIN if kind == "strategy" else RESERVED  # a strategy makes calls, and is none
        own = {key: value for key, value in table.values.items() if key in reserved - _PLUGIN}
        limits = settings.build(Limits, Table(table.name, own))
        if registration.options is not None:
            return Part(registration, limits, settings.build(registration.options, table, reserved=reserved))
        for key, value in table.values.items():
            if key not in reserved:
                raise ConfigError(
                    f"{value.layer.origin}: [{table.name}] sets `{key}`, and {registration.name!r} has no options."
                )
        return Part(registration, limits, None)

    def check_default(self, kind: Kind) -> None:
        """Check that what [defaults] names for that kind is configured or installed, and rightly."""
        name = self.retriever.name if kind == "retriever" else getattr(self.defaults, kind)
        if name is not None and (kind, name) != ("retriever", GIVEN):
            self.part(kind, name)

    def _table(self, kind: Kind, name: str) -> Table:
        table = self.config.table(kind, name)
        extra = self._overrides.get((kind, name))
        if not extra:
            return table
        layer = Layer("the command line", {})
        return Table(table.name, {**table.values, **{key: Value(value, layer) for key, value in extra.items()}})

    def _registration(self, kind: Kind, name: str, table: Table) -> Registration:
        named = table.values.get("plugin")
        if named is None:
            try:
                return self.host.find(kind, name)
            except ConfigError as error:
                if not table.values:
                    raise
                value = next(iter(table.values.values()))
                raise ConfigError(
                    f"{value.layer.origin}: [{table.name}] does not say which plugin it configures. {error.message}",
                    hint=f'Add `plugin = "..."` under [{table.name}]. {error.hint}',
                ) from error
        if not isinstance(named.value, str):
            raise ConfigError(f"{named.layer.origin}: `{table.name}.plugin` must be text, and it is {named.value!r}.")
        try:
            return self.host.find(kind, named.value)
        except ConfigError as error:
            raise ConfigError(f"{named.layer.origin}: [{table.name}] {error.message}", hint=error.hint) from error
