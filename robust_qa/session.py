"""One run: builds the components that the configuration names, once each, and takes questions to answers."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, Self

from msgspec import Meta

from . import environment, expressions, settings
from .cache import Cache
from .calls import RESERVED, Channel, Limits
from .config import Config, Layer, Table, Value
from .errors import ConfigError, MissingError, PluginError, RqaError
from .host import Host, Kind, Registration
from .toolbox import Channels, Toolbox
from .trace import Trace
from .types import Answer, Power, Question

GIVEN = "given"  # the retriever that stands for the question's own passages
_THREADS = 64
_PLUGIN_FAULT = "This is a fault of the plugin; RQA_DEBUG=1 shows where."


@dataclass(frozen=True, slots=True)
class Defaults:
    """The table [defaults]: what is used when the command line names nothing else."""

    strategy: str | None = None  # a strategy; default: the most robust one that the reader can run
    retriever: str | None = None  # a retriever, or name@k
    reader: str | None = None  # a reader
    evaluator: str | None = None  # an evaluator
    k: Annotated[int, Meta(ge=1, le=10_000)] = 10  # passages a question retrieves


@dataclass(frozen=True, slots=True)
class CacheSettings:
    """The table [cache]: finished calls kept on disk."""

    enabled: bool = True  # false: neither read nor write the cache
    folder: Path | None = None  # default: the user's cache folder
    size: Annotated[int, Meta(ge=1)] = 1024  # megabytes; the least recently used entries go first


class Session:
    """Components of one run and what they share. Use it as an async context manager.

    `overrides` are option values by component ("retriever", name) that no file holds, such as the index of
    `--docs`; `detailed` false keeps only the costs of a trace; with `prefer_retriever` passages that a question
    brings are left aside.
    """

    def __init__(
        self,
        config: Config,
        host: Host,
        *,
        detailed: bool = True,
        prefer_retriever: bool = False,
        overrides: Mapping[tuple[Kind, str], Mapping[str, Any]] | None = None,
    ) -> None:
        self.config = config
        self.host = host
        self.defaults = settings.build(Defaults, config.table("defaults"))
        self.detailed = detailed
        self._prefer_retriever = prefer_retriever
        self._overrides = overrides or {}
        self._cache = open_cache(config)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="rqa")
        self._channels: dict[tuple[Kind, str], Channel] = {}
        self._strategies: dict[str, Any] = {}
        self._plans: dict[bool, tuple[str, Any, Channels]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        for channel in self._channels.values():
            close = getattr(channel.component, "close", None)
            if close is not None:
                closed = close()
                if inspect.isawaitable(closed):
                    await closed
        # An interrupted run does not wait for engines that cannot be stopped.
        self._threads.shutdown(wait=kind is None, cancel_futures=True)
        if self._cache is not None:
            self._cache.close()

    async def answer(self, question: Question) -> Answer:
        """The configured strategy's answer to `question`. Raises RqaError when there can be none."""
        began = time.perf_counter()
        if self._prefer_retriever:
            question = dataclasses.replace(question, passages=None)
        name, strategy, channels = self.plan(has_passages=question.passages is not None)
        toolbox = Toolbox(question, channels, Trace(detailed=self.detailed))
        try:
            answer = await strategy.answer(question.text, toolbox)
        except RqaError:
            raise
        except Exception as error:
            cause = _first(error)
            if isinstance(cause, RqaError):
                raise cause from error
            raise PluginError(
                f"Strategy {name!r} failed with {type(cause).__name__}: {cause}.", hint=_PLUGIN_FAULT
            ) from error
        if not isinstance(answer, Answer):
            raise PluginError(f"Strategy {name!r} gave a {type(answer).__name__}, and not an Answer.")
        return dataclasses.replace(
            answer,
            question=question.text,
            strategy=name,
            usage=toolbox.trace.usage,
            seconds=time.perf_counter() - began,
            trace=tuple(toolbox.trace.steps),
        )

    def plan(self, *, has_passages: bool) -> tuple[str, Any, Channels]:
        """Strategy name, strategy and channels for questions that bring passages, or do not.

        Raises ConfigError or MissingError when the configuration cannot answer such questions.
        """
        if has_passages not in self._plans:
            self._plans[has_passages] = self._plan(has_passages)
        return self._plans[has_passages]

    def _plan(self, has_passages: bool) -> tuple[str, Any, Channels]:
        asked = expressions.parse(self.defaults.retriever or "")
        k_is_set = "k" in self.config.table("defaults").values
        channels = Channels(
            retriever=None if has_passages or asked.name == GIVEN else self._chosen("retriever", asked.name),
            reader=self._chosen("reader", self.defaults.reader),
            evaluator=self._chosen("evaluator", self.defaults.evaluator),
            k=asked.k or self.defaults.k,
            given_k=asked.k or (self.defaults.k if k_is_set else None),
        )
        powers = _powers(channels, has_passages)
        name = self.defaults.strategy or self._best_strategy(powers)
        strategy = self._strategy(name)
        if lacking := frozenset(strategy.needs) - powers:
            raise self._cannot(name, lacking, channels)
        return name, strategy, channels

    def channel(self, kind: Kind, name: str) -> Channel:
        """The component of that name behind its limits, built on first use."""
        if (kind, name) not in self._channels:
            self._channels[kind, name] = self._build_channel(kind, name)
        return self._channels[kind, name]

    def component(self, kind: Kind, name: str) -> Any:
        """A new instance of the component, as [kind.name] or else its plugin's defaults say."""
        table = self._table(kind, name)
        registration = self._registration(kind, name, table)
        _, options = self._settings(registration, table)
        return _construct(registration, options)

    def validate(self, kind: Kind, name: str) -> None:
        """Check the table of that component without building it; ConfigError says what is wrong."""
        table = self._table(kind, name)
        registration = self._registration(kind, name, table)
        self._settings(registration, table)

    def validate_defaults(self) -> None:
        """Check that [defaults] names what is configured or installed."""
        retriever = expressions.parse(self.defaults.retriever or "").name
        chosen: dict[Kind, str | None] = {
            "strategy": self.defaults.strategy,
            "retriever": None if retriever == GIVEN else retriever,
            "reader": self.defaults.reader,
            "evaluator": self.defaults.evaluator,
        }
        for kind, name in chosen.items():
            if name is not None:
                self.validate(kind, name)

    def _settings(self, registration: Registration, table: Table) -> tuple[Limits, Any]:
        """The host's limits and the component's options (None without) from its table."""
        own = {key: value for key, value in table.values.items() if key in RESERVED and key != "plugin"}
        limits = settings.build(Limits, Table(table.name, own))
        if registration.options is not None:
            return limits, settings.build(registration.options, table, reserved=RESERVED)
        for key, value in table.values.items():
            if key not in RESERVED:
                raise ConfigError(
                    f"{value.layer.origin}: [{table.name}] sets `{key}`, and {registration.name!r} has no options."
                )
        return limits, None

    def _build_channel(self, kind: Kind, name: str) -> Channel:
        table = self._table(kind, name)
        registration = self._registration(kind, name, table)
        limits, options = self._settings(registration, table)
        component = _construct(registration, options)
        # Asked of every component: an index or a model that is missing says so here, before the first call.
        with _building(registration):
            fingerprint = component.fingerprint() if hasattr(component, "fingerprint") else ""
        identity = None
        if getattr(component, "cached", True):
            plugin = registration.plugin
            # A Key's repr shows its name alone.
            content = (kind, registration.name, plugin.distribution, plugin.version, repr(options), fingerprint)
            identity = hashlib.sha256(repr(content).encode()).hexdigest()
        return Channel(
            f"{kind}.{name}",
            component,
            limits,
            options=options,
            identity=identity,
            cache=self._cache,
            threads=self._threads,
        )

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
            return self.host.find(kind, name)
        if not isinstance(named.value, str):
            raise ConfigError(f"{named.layer.origin}: `{table.name}.plugin` must be text, and it is {named.value!r}.")
        try:
            return self.host.find(kind, named.value)
        except ConfigError as error:
            raise ConfigError(f"{named.layer.origin}: [{table.name}] {error.message}", hint=error.hint) from error

    def _chosen(self, kind: Kind, name: str | None) -> Channel | None:
        if name is not None:
            return self.channel(kind, name)
        configured = self.config.names(kind)
        if len(configured) == 1:
            return self.channel(kind, configured[0])
        for registration in self.host.components(kind):
            if registration.rank <= 0:
                continue
            try:
                return self.channel(kind, registration.name)
            except (ConfigError, MissingError):
                continue  # it needs configuration, or its model or index is not there
        return None

    def _best_strategy(self, powers: frozenset[Power]) -> str:
        for registration in self.host.components("strategy"):
            if registration.rank > 0 and registration.factory.needs <= powers:  # type: ignore[attr-defined]
                return registration.name
        raise MissingError(
            "There is nothing to answer from: no documents, no passages and no language model.",
            hint="Give documents with `rqa ask --docs PATH QUESTION`, or index them once with `rqa index PATH`;\n"
            "to answer from a language model, get one with `rqa models pull qwen2.5-1.5b`.",
        )

    def _strategy(self, name: str) -> Any:
        if name not in self._strategies:
            self._strategies[name] = self.component("strategy", name)
        return self._strategies[name]

    def _cannot(self, strategy: str, lacking: frozenset[Power], channels: Channels) -> RqaError:
        if "retrieve" in lacking:
            return MissingError(
                f"Strategy {strategy!r} retrieves passages, and there are no documents to retrieve from.",
                hint="Give documents with --docs PATH, or index them once with `rqa index PATH`.",
            )
        if "generate" in lacking:
            reader = channels.reader.name if channels.reader else "no reader"
            message = f"Strategy {strategy!r} needs a language model, and {reader} does not write text."
            hint = (
                "Get a local model with `rqa models pull qwen2.5-1.5b`, and set `reader = ...` under [defaults];\n"
                "or run `rqa ask -s rag QUESTION`, which needs none."
            )
            if self.defaults.reader:
                return ConfigError(message, hint=hint)
            return MissingError(message, hint=hint)
        kind = "reader" if "read" in lacking else "evaluator"
        return ConfigError(
            f"Strategy {strategy!r} needs a {kind}, and none is configured.",
            hint=f"Set `{kind} = ...` under [defaults]; `rqa plugins` lists what is installed.",
        )


def open_cache(config: Config) -> Cache | None:
    """The cache that [cache] describes, None when it is switched off."""
    chosen = settings.build(CacheSettings, config.table("cache"))
    if not chosen.enabled:
        return None
    return Cache(chosen.folder or environment.cache_dir(), chosen.size * 1024 * 1024)


def _powers(channels: Channels, has_passages: bool) -> frozenset[Power]:
    powers: set[Power] = set()
    if has_passages or channels.retriever:
        powers.add("retrieve")
    if channels.reader:
        powers.add("read")  # a language model reads with the host's prompt
        if hasattr(channels.reader.component, "generate"):
            powers.add("generate")
    if channels.evaluator:
        powers.add("score")
    return frozenset(powers)


@contextmanager
def _building(registration: Registration) -> Iterator[None]:
    """Names the plugin in whatever goes wrong while its component is built."""
    try:
        yield
    except RqaError:
        raise
    except Exception as error:
        raise PluginError(
            f"{registration.kind.capitalize()} {registration.name!r} of plugin {registration.plugin.name} "
            f"cannot be built: {type(error).__name__}: {error}.",
            hint=_PLUGIN_FAULT,
        ) from error


def _construct(registration: Registration, options: Any) -> Any:
    with _building(registration):
        return registration.factory() if registration.options is None else registration.factory(options)


def _first(error: Exception) -> Exception:
    """The first rqa error of failures that happened at once, else the first failure."""
    if not isinstance(error, ExceptionGroup):
        return error
    leaves = [_first(part) for part in error.exceptions]
    return next((leaf for leaf in leaves if isinstance(leaf, RqaError)), leaves[0])
