"""What a plugin registers: its components, each by its kind and name."""

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
    from ..protocols import AssistedEvaluator, Evaluator, ExtractiveReader, LanguageModel, Retriever, Strategy

NAME = re.compile(r"[a-z][a-z0-9_-]*\Z")


@dataclass(slots=True)
class Plugin:
    """One plugin as `rqa plugins` lists it. `reason` says why it is broken or was left out."""

    name: str
    distribution: str = ""
    version: str = ""
    state: Literal["loaded", "broken", "off"] = "loaded"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Registration:
    """A component as its plugin registered it. A refused one has a `reason` and cannot be built."""

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
        """The component's `Options` dataclass, None when it takes none."""
        return getattr(self.factory, "Options", None)

    @property
    def needs(self) -> frozenset[Power]:
        """What its class says that it needs, as one with a rank does; empty where only its instances say it."""
        return frozenset(getattr(self.factory, "needs", ()))


@dataclass(slots=True)
class Registry:
    """What `rqa_register` is handed: one method a kind.

    `rank` decides what is used when the configuration names none: of the components that work without any
    configuration the highest rank wins. `summary` defaults to the first line of the factory's docstring. `advice`
    is a sentence for people who have no such reader yet: how to get one.
    """

    plugin: Plugin
    staged: list[Registration] = field(default_factory=list)

    def retriever(self, name: str, factory: Callable[..., Retriever], *, rank: int = 0, summary: str = "") -> None:
        """Register a retriever: query to passages."""
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
        """Register a reader: what reads passages, or writes text, or both."""
        self._stage("reader", name, factory, rank, summary, advice=advice)

    def evaluator(
        self, name: str, factory: Callable[..., Evaluator | AssistedEvaluator], *, rank: int = 0, summary: str = ""
    ) -> None:
        """Register an evaluator: relevance of texts to a question."""
        self._stage("evaluator", name, factory, rank, summary)

    def strategy(self, name: str, factory: Callable[..., Strategy], *, rank: int = 0, summary: str = "") -> None:
        """Register a strategy: question to Answer."""
        self._stage("strategy", name, factory, rank, summary)

    def _stage(
        self, kind: Kind, name: str, factory: Callable[..., Any], rank: int, summary: str, *, advice: str = ""
    ) -> None:
        if not isinstance(name, str) or not NAME.match(name):
            raise PluginError(f"{name!r} is no name for a {kind}: use a-z, 0-9, - and _, a letter first")
        from ..expressions import BUILT_IN

        if kind == "retriever" and name in BUILT_IN:
            raise PluginError(f"{name!r} is no name for a retriever: it means something else in retriever expressions")
        options = getattr(factory, "Options", None)
        if options is not None and not dataclasses.is_dataclass(options):
            raise PluginError(f"the Options of {kind} {name!r} is not a dataclass")
        if options is not None and "plugin" in (each.name for each in dataclasses.fields(options) if each.init):
            raise PluginError(f"the Options of {kind} {name!r} has plugin, which the host keeps for itself")
        told = isinstance(summary, str) and isinstance(advice, str)
        if not callable(factory) or not isinstance(rank, int) or not told:
            others = "summary=TEXT, advice=TEXT" if kind == "reader" else "summary=TEXT"
            raise PluginError(f"{kind} {name!r} is registered with (name, factory, rank=NUMBER, {others})")
        if kind == "strategy" and rank > 0 and not are_names(getattr(factory, "needs", None)):
            raise PluginError(f"strategy {name!r} has a rank, and on its class no set of names as `needs`")
        summary = summary or (factory.__doc__ or "").strip().partition("\n")[0]
        self.staged.append(Registration(kind, name, factory, self.plugin, rank, summary, advice))
