"""The components that the configuration names: find the plugin, and check the options and all that they name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from ..calls.contract import CONTRACT, attributed, check_component
from ..calls.limits import Limits, reserved
from ..config import options as settings
from ..config.layers import Config
from ..config.options import Defaults
from ..config.values import Layer, Table, Value
from ..errors import ConfigError, PluginError, RqaError
from ..expressions import (
    BUILT_IN,
    Applied,
    Source,
    Tree,
    expanded,
    nodes,
    parse_expression,
    sources,
)
from ..file_formats import FileFormat
from ..host.loading import Host
from ..host.registry import Registration
from ..prompt import Prompt
from ..types import ANSWERING_KINDS, NAMED_KINDS, Kind, Passage

if TYPE_CHECKING:
    from ..calls.pipeline import Pipeline
    from ..config.source_trust import SourceTrust
    from ..protocols import EmbedderHandle
    from .prompting import Prompting


@dataclass(frozen=True, slots=True)
class Component:
    """A configured component that is not built yet. `options` is None if it has none."""

    registration: Registration
    limits: Limits
    options: Any
    formats: tuple[FileFormat, ...] = ()

    @property
    def identity(self) -> tuple[Any, ...]:
        """What its results depend on besides its fingerprint: kind, name, plugin, version and options."""
        plugin, options = self.registration.plugin, settings.told(self.options)
        return self.registration.kind, self.registration.name, plugin.distribution, plugin.version, options

    @property
    def embedders(self) -> dict[str, str]:
        """The names of the embedders that it uses, by option. Empty means the default one."""
        return {key: getattr(self.options, key) or "" for key in settings.embedder_options(self.registration.options)}

    def build(self, embedder: Callable[[str], EmbedderHandle]) -> Any:
        """A new instance. `embedder` returns the handle of the embedder of that name."""
        with self.attributed():
            factory = self.registration.factory
            handles: dict[str, Any] = {key: embedder(name) for key, name in self.embedders.items()}
            if getattr(factory, "reads_files", False):
                handles["formats"] = self.formats
            return factory(*(() if self.registration.options is None else (self.options,)), **handles)

    def attributed(self) -> AbstractContextManager[None]:
        """A context manager that attributes unexpected errors to the plugin."""
        kind, name, plugin = self.registration.kind, self.registration.name, self.registration.plugin.name
        return attributed(f"Building {kind} {name!r} of plugin {plugin}")


class Configured:
    """The components of `host` as `config` describes them.

    `overrides`: option values by kind and name that are in no file, such as the index folder of `--docs`.
    """

    def __init__(
        self, config: Config, host: Host, *, overrides: Mapping[tuple[Kind, str], Mapping[str, Any]] | None = None
    ) -> None:
        self.config = config
        self.host = host
        self.overrides = overrides or {}

    @cached_property
    def defaults(self) -> Defaults:
        """The table [defaults]."""
        return settings.build(Defaults, self.config.table("defaults"))

    @cached_property
    def expressions(self) -> dict[str, Tree]:
        """The expressions that [defaults] names."""
        return {name: parse_expression(text) for name, text in self.defaults.expressions.items()}

    @property
    def prompting(self) -> Prompting:
        """What asks language models in words."""
        found: Prompting = self.host.prompting
        return found

    @cached_property
    def prompts(self) -> dict[str, Prompt]:
        """The prompts of retriever expressions."""
        return self.prompting.expression_prompts(self.defaults.prompts)

    def trust(self, passage: Passage) -> float:
        """The weight of the passage's source, from the table [trust]."""
        return self._source_trust.weight(passage)

    @cached_property
    def _source_trust(self) -> SourceTrust:
        from ..config.source_trust import build

        return build(self.config)

    @property
    def retriever(self) -> Tree | None:
        """The retriever expression in [defaults], with named expressions expanded. None if it is not set."""
        if self.defaults.retriever is None:
            return None
        return expanded(parse_expression(self.defaults.retriever), self.expressions)

    def component(self, kind: Kind, name: str) -> Component:
        """The component of that name, with the options in its table [kind.name].

        A strategy may be named with a reader, as in "rag:small".

        Raises ConfigError if there is no such component or its table has an invalid value.
        """
        if kind == "strategy":
            name = self._without_reader(name)
        table = self._table(kind, name)
        registration = self._registration(kind, name, table)
        if kind == "retriever" and name in BUILT_IN:
            raise ConfigError(
                f"[{table.name}]: {name!r} is a built-in name of retriever expressions.", hint="Choose another name."
            )
        host_keys = reserved(kind)
        limit_values = {key: value for key, value in table.values.items() if key in host_keys and key != "plugin"}
        problems: list[RqaError] = []
        with _collected(problems):
            _check_reach(registration, table)
        with _collected(problems):
            limits = settings.build(Limits, Table(table.name, limit_values))
        options = None
        if registration.options is not None:
            with _collected(problems):
                options = settings.build(registration.options, table, reserved=host_keys)
                self._check_expressions(options, table)
                self._check_embedders(kind, registration, options, table)
        else:
            problems += (
                ConfigError(
                    f"{value.layer.origin}: [{table.name}] sets `{key}`, but {registration.name!r} has no options."
                )
                for key, value in table.values.items()
                if key not in host_keys
            )
        if problems:
            raise ConfigError.of(problems)
        return Component(registration, limits, options, self.host.file_formats)

    def keeps_index(self, name: str, *, in_folder: bool = False) -> bool:
        """Whether the retriever `name` has an index, with `in_folder` in a folder that is its option `index`.

        Raises ConfigError if there is no such retriever.
        """
        registration = self._registration("retriever", name, self._table("retriever", name))
        names = {each.name for each in fields(registration.options or Limits)}
        return registration.has("index") and (not in_folder or "index" in names)

    def indexes_quickly(self, name: str) -> bool:
        """Whether that retriever has the option `quick`, which `--docs` sets."""
        options = self.component("retriever", name).options
        return isinstance(getattr(options, "quick", None), bool)

    def indexing(self, names: Iterable[str], *, in_folder: bool = False) -> Iterator[str]:
        """The retrievers in `names` that have an index. Skips those whose plugin or embedder is not installed.

        Raises ConfigError if the table of one has an invalid value.
        """
        for name in names:
            try:
                has_index = self.keeps_index(name, in_folder=in_folder)
            except ConfigError:  # not installed
                continue
            if has_index and self.has_embedders("retriever", name):
                yield name

    def indexing_by_default(self, *, in_folder: bool = False) -> Iterator[str]:
        """The configured, then the installed retrievers that have an index, best first."""
        installed = (registration.name for registration in self.host.components("retriever"))
        return islice(self.indexing((*self.config.names("retriever"), *installed), in_folder=in_folder), 1)

    def retriever_names(self) -> list[str]:
        """The retrievers of the default expression. Without one, the first that has an index."""
        if self.retriever is None:
            return [*self.indexing_by_default()]
        return [name for name in sources(self.retriever) if name not in BUILT_IN]

    def check_filters(self, names: Iterable[str], filters: Iterable[str]) -> None:
        """Raise ConfigError if one of these retrievers lacks the option for a filter."""
        for name in names:
            registration = self._registration("retriever", name, self._table("retriever", name))
            known = {each.name for each in fields(registration.options or Limits)}
            if lacking := [each for each in filters if each not in known]:
                raise ConfigError(
                    f"Retriever {name!r} cannot filter by {', '.join(lacking)}.",
                    hint="Name another one with -r, or ask without this filter.",
                )

    def has(self, kind: Kind, name: str, method: str) -> bool:
        """Whether that component has an optional method. Raises ConfigError if there is no such component."""
        return self._registration(kind, name, self._table(kind, name)).has(method)

    def has_embedders(self, kind: Kind, name: str) -> bool:
        """Whether there is an embedder for each option of that component that names one."""
        if all(self.component(kind, name).embedders.values()):
            return True
        named = self.defaults.embedder or self.config.names("embedder")
        return bool(named or self.host.components("embedder"))

    def check(self, kind: Kind, name: str) -> list[RqaError]:
        """Build that component and look up the components that its options name. Opens no model or index.

        Returns the errors of retriever expressions that questions can do without. Raises RqaError for all others.
        """
        part = self.component(kind, name)
        try:
            component = part.build(unusable_handle)
            check_component(kind, name, component)
            references: tuple[tuple[Kind, str], ...] = (
                ("strategy", "hands_to"),
                ("evaluator", "scored_by"),
                ("reader", "read_by"),
            )
            problems: list[RqaError] = []
            for other_kind, attribute in references:
                for other in getattr(component, attribute, ()):
                    with _collected(problems):
                        found = self._without_reader(other) if other_kind == "strategy" else other
                        self._registration(other_kind, found, self._table(other_kind, found))
            if problems:
                raise ConfigError.of(problems)
        except RqaError as error:
            raise RqaError(f"[{kind}.{name}]: {error.message}", hint=error.hint) from error
        by_option = groupby(settings.expressions(part.options, self._table(kind, name).values), key=itemgetter(0))
        unusable = [error for _, pairs in by_option for error in self._unusable([text for _, text in pairs])]
        if kind == "strategy":
            self._check_no_circle(component, (name,))
        return unusable

    def _unusable(self, expressions: Sequence[str]) -> list[RqaError]:
        """The errors of these expressions. Raises ConfigError if none of them can be used."""
        errors: list[RqaError] = []
        for text in expressions:
            try:
                self._check_sources(expanded(parse_expression(text), self.expressions))
            except RqaError as error:
                errors.append(error)
        if len(errors) == len(expressions):
            raise ConfigError.of(errors)
        return errors

    def _check_no_circle(self, strategy: Any, path: tuple[str, ...]) -> None:
        for other in getattr(strategy, "hands_to", ()):
            name, _ = split_reader(other)
            if name in path:
                raise in_circle((*path, name))
            self._check_no_circle(self.component("strategy", name).build(unusable_handle), (*path, name))

    def _without_reader(self, strategy: str) -> str:
        """The strategy in a name such as "rag:small". Raises ConfigError if there is no such reader."""
        name, reader = split_reader(strategy)
        if reader:
            self._registration("reader", reader, self._table("reader", reader))
        return name

    def _check_sources(self, tree: Tree) -> None:
        for name in sources(tree):
            if name not in BUILT_IN:
                self.component("retriever", name)

    def check_defaults(self) -> list[RqaError]:
        """The errors in [defaults]. Afterwards invalid ones count as not set."""
        problems: list[RqaError] = []
        try:
            self.defaults  # noqa: B018
        except ConfigError as error:
            problems.append(error)
            self.defaults = self._valid_defaults()
        for kind in (*ANSWERING_KINDS, "engine"):
            with _collected(problems):
                self.check_default(kind)
        with _collected(problems):
            self._source_trust  # noqa: B018
        return problems

    def _valid_defaults(self) -> Defaults:
        table, valid = self.config.table("defaults"), dict[str, Value]()
        for key, value in table.values.items():
            with suppress(ConfigError):
                settings.build(Defaults, Table(table.name, {key: value}))
                valid[key] = value
        return settings.build(Defaults, Table(table.name, valid))

    def check_default(self, kind: Kind) -> None:
        """Check the component that [defaults] names for that kind. Raises ConfigError if it cannot be used."""
        if kind == "retriever":
            self._check_expressions(self.defaults, self.config.table("defaults"))
            if self.retriever:
                self._check_sources(self.retriever)
        elif (name := getattr(self.defaults, kind)) is not None:
            self.component(kind, name)

    def own_expressions(self, kind: Kind, name: str) -> list[Tree]:
        """The retriever expressions in that component's options, with named expressions expanded."""
        name = self._without_reader(name) if kind == "strategy" else name
        pairs = settings.expressions(self.component(kind, name).options, self._table(kind, name).values)
        return [expanded(parse_expression(text), self.expressions) for _, text in pairs]

    def _check_expressions(self, options: Any, table: Table) -> None:
        """Raises ConfigError if an expression in `table` names a component that does not exist."""
        problems: list[RqaError] = []
        for key, text in settings.expressions(options, table.values):
            try:
                self._check_expression(text)
            except ConfigError as error:
                place = f"{table.values[key].layer.origin}: `{table.name}.{key}`: `{text}`"
                problems.append(ConfigError(f"{place}: {error.message}", hint=error.hint))
        if problems:
            raise ConfigError.of(problems)

    def _check_embedders(self, kind: Kind, registration: Registration, options: Any, table: Table) -> None:
        """Raises ConfigError if an option in `table` names an embedder that does not exist."""
        for key in settings.embedder_options(registration.options):
            if kind == "embedder":
                raise PluginError(
                    f"Embedder {registration.name!r} has the option `{key}` of type EmbedderName. An embedder cannot "
                    "use another embedder.",
                    hint=CONTRACT,
                )
            name = getattr(options, key)
            try:
                if name:
                    self._registration("embedder", name, self._table("embedder", name))
            except ConfigError as error:
                origin = f"{table.values[key].layer.origin}: " if key in table.values else ""
                raise ConfigError(f"{origin}`{table.name}.{key}`: {error.message}", hint=error.hint) from error

    def _check_expression(self, text: str) -> None:
        problems: list[RqaError] = []
        for node in nodes(expanded(parse_expression(text), self.expressions)):
            with _collected(problems):
                match node:
                    case Source(name) if name not in BUILT_IN:
                        self._registration("retriever", name, self._table("retriever", name))
                    case Applied(name):
                        self.check_corrects(name)
        if problems:
            raise ConfigError.of(problems)

    def check_corrects(self, strategy: str) -> None:
        """Raises ConfigError if there is no such strategy or it does not correct passages."""
        registration = self._registration("strategy", strategy, self._table("strategy", strategy))
        if not registration.has("correct"):
            correctors = [r.name for r in self.host.components("strategy") if r.has("correct")]
            raise ConfigError(
                f"Strategy {strategy!r} does not correct passages, so `{strategy}(...)` is not a retriever.",
                hint=f"Strategies that correct passages: {', '.join(correctors) or 'none'}.",
            )

    def _table(self, kind: Kind, name: str) -> Table:
        table = self.config.table(*((name,) if kind in NAMED_KINDS else (kind, name)))
        extra = self.overrides.get((kind, name))
        if not extra:
            return table
        layer = Layer("the command line", {})
        return replace(table, values={**table.values, **{key: Value(value, layer) for key, value in extra.items()}})

    def _registration(self, kind: Kind, name: str, table: Table) -> Registration:
        named = table.values.get("plugin")
        if named is None:
            try:
                return self.host.find(kind, name, configured=self.config.names(kind))
            except ConfigError as error:
                if not table.values:
                    raise
                value = next(iter(table.values.values()))
                raise ConfigError(
                    f"{value.layer.origin}: [{table.name}] does not say which plugin it configures. {error.message}",
                    hint=f'Add `plugin = "..."` under [{table.name}]. If the plugin is your own, install it: '
                    f"`pip install -e .` in its folder. {error.hint}",
                ) from error
        if not isinstance(named.value, str):
            raise ConfigError(f"{named.layer.origin}: `{table.name}.plugin` must be text, not {named.value!r}.")
        try:
            return self.host.find(kind, named.value)
        except ConfigError as error:
            raise ConfigError(f"{named.layer.origin}: [{table.name}] {error.message}", hint=error.hint) from error


@contextmanager
def _collected(problems: list[RqaError]) -> Iterator[None]:
    """Add an error raised inside to `problems`, so that the next check runs."""
    try:
        yield
    except RqaError as error:
        problems.append(error)


def in_circle(strategies: Sequence[str]) -> ConfigError:
    """The error for strategies that hand passages to each other in that order."""
    return ConfigError(
        f"The strategies {' -> '.join(strategies)} hand their passages on in a circle.",
        hint="Let one of them hand its passages to another strategy (in crag: `then`).",
    )


def _check_reach(registration: Registration, table: Table) -> None:
    """Raises ConfigError if an untrusted file configures a component that contacts hosts of its own choice."""
    if not getattr(registration.factory, "reaches_out", False):
        return
    for key, value in table.values.items():
        for layer in value.layers:
            if layer.confined:
                raise ConfigError(
                    f"{layer.origin}: `{table.name}.{key}` makes {registration.name!r} send questions to other hosts, "
                    "and this file is not trusted.",
                    hint=layer.allowing,
                )


def split_reader(name: str) -> tuple[str, str | None]:
    """Return the strategy and the reader of a name such as "rag:small". None: the reader of the question."""
    strategy, _, reader = name.partition(":")
    return strategy, reader or None


def unusable_handle(name: str) -> EmbedderHandle:
    """A handle for a component that is built only to be checked. Using it raises PluginError."""
    from .embedding import Handle

    def refuse(name: str) -> Pipeline:
        raise PluginError("An embedder was used while a component was built.", hint=CONTRACT)

    return Handle(name, refuse)
