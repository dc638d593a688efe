"""Registration of a plugin's components by kind and name."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ..errors import PluginError
from ..protocols import are_names
from ..types import Kind, Power

if TYPE_CHECKING:
    from ..protocols import (
        AssistedEvaluator,
        Embedder,
        Engine,
        Evaluator,
        ExtractiveReader,
        LanguageModel,
        Retriever,
        Strategy,
    )

NAME = re.compile(r"[a-z][a-z0-9_-]*\Z")


@dataclass(eq=False)
class Plugin:
    """A plugin, as listed by `rqa plugins`. `reason` says why it is broken or off."""

    name: str
    distribution: str = ""
    version: str = ""
    state: Literal["loaded", "broken", "off"] = "loaded"
    reason: str = ""


@dataclass(eq=False)
class Registration:
    """A registered component. `reason` is set if the host refused it."""

    kind: Kind
    name: str
    factory: Callable[..., Any]
    plugin: Plugin
    rank: int = 0
    summary: str = ""
    advice: str = ""
    reason: str = ""

    @property
    def options(self) -> type[Any] | None:
        """The component's `Options` dataclass, or None."""
        return getattr(self.factory, "Options", None)

    @property
    def needs(self) -> frozenset[Power]:
        """The class attribute `needs` of a strategy, empty if only its instances have one."""
        return frozenset(getattr(self.factory, "needs", ()))


@dataclass(eq=False)
class Registry:
    """The argument of `rqa_register`, with one method per kind.

    `rank` sets the default: if the configuration names no component, the highest rank that works without
    configuration is used. `summary` defaults to the first line of the factory's docstring. `advice` is one sentence
    that tells users how to set up this reader.
    """

    plugin: Plugin
    staged: list[Registration] = field(default_factory=list)

    def retriever(self, name: str, factory: Callable[..., Retriever], *, rank: int = 0, summary: str = "") -> None:
        """Register a retriever, which returns passages for a query."""
        self._stage("retriever", name, factory, rank, summary)

    def reader(
        self,
        name: str,
        factory: Callable[..., ExtractiveReader | LanguageModel],
        *,
        rank: int = 0,
        summary: str = "",
        advice: str = "",
    ) -> None:
        """Register a reader, which finds answers in passages or generates text."""
        self._stage("reader", name, factory, rank, summary, advice=advice)

    def evaluator(
        self, name: str, factory: Callable[..., Evaluator | AssistedEvaluator], *, rank: int = 0, summary: str = ""
    ) -> None:
        """Register an evaluator, which scores the relevance of texts to a question."""
        self._stage("evaluator", name, factory, rank, summary)

    def embedder(self, name: str, factory: Callable[..., Embedder], *, rank: int = 0, summary: str = "") -> None:
        """Register an embedder, which turns texts into vectors."""
        self._stage("embedder", name, factory, rank, summary)

    def strategy(self, name: str, factory: Callable[..., Strategy], *, rank: int = 0, summary: str = "") -> None:
        """Register a strategy, which answers a question."""
        self._stage("strategy", name, factory, rank, summary)

    def engine(self, name: str, factory: Callable[..., Engine], *, summary: str = "") -> None:
        """Register an engine, which answers the rows of a batch."""
        self._stage("engine", name, factory, 0, summary)

    def _stage(
        self, kind: Kind, name: str, factory: Callable[..., Any], rank: int, summary: str, *, advice: str = ""
    ) -> None:
        if not isinstance(name, str) or not NAME.match(name):
            raise PluginError(f"invalid {kind} name {name!r}: use a-z, 0-9, - and _, starting with a letter")
        from ..expressions import BUILT_IN

        if kind == "retriever" and name in BUILT_IN:
            raise PluginError(f"invalid retriever name {name!r}: it is built into retriever expressions")
        options = getattr(factory, "Options", None)
        if options is not None and not dataclasses.is_dataclass(options):
            raise PluginError(f"the Options of {kind} {name!r} is not a dataclass")
        if options is not None and "plugin" in (each.name for each in dataclasses.fields(options) if each.init):
            raise PluginError(f"the Options of {kind} {name!r} has a field `plugin`, which is reserved")
        are_texts = isinstance(summary, str) and isinstance(advice, str)
        if not callable(factory) or not isinstance(rank, int) or not are_texts:
            others = "summary=TEXT, advice=TEXT" if kind == "reader" else "summary=TEXT"
            raise PluginError(f"register {kind} {name!r} with (name, factory, rank=NUMBER, {others})")
        if kind == "strategy" and rank > 0 and not are_names(getattr(factory, "needs", None)):
            raise PluginError(f"strategy {name!r} has a rank, so its class needs a set of names `needs`")
        summary = summary or (factory.__doc__ or "").strip().partition("\n")[0]
        self.staged.append(Registration(kind, name, factory, self.plugin, rank, summary, advice))
