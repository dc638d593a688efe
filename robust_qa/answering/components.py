"""The components of a session: built on first use, called through their pipelines, and closed as one."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..calls.cache import Cache
from ..calls.contract import check_component, closed
from ..calls.pipeline import Pipeline
from ..config.layers import Config
from ..errors import ConfigError, MissingError, RqaError
from ..host.loading import Host
from ..types import Kind
from .configured import Configured, split_reader

if TYPE_CHECKING:
    from ..protocols import EmbedderHandle, Relay


class Components(Configured):
    """The configured components, built.

    `cache`: where calls store their results. Set it before the first use; None stores nothing.
    """

    def __init__(
        self,
        config: Config,
        host: Host,
        *,
        overrides: Mapping[tuple[Kind, str], Mapping[str, Any]] | None = None,
        cache: Cache | None = None,
    ) -> None:
        super().__init__(config, host, overrides=overrides)
        self.cache = cache
        self.relay: Relay | None = None
        """Makes the calls of readers, if it is set."""
        self._pipelines: dict[tuple[Kind, str], Pipeline] = {}
        self._singles: dict[tuple[Kind, str], Any] = {}
        self._recording = threading.Lock()
        self._built: dict[str, Any] = {}  # to close at the end, including components that failed a check

    def build(self, kind: Kind, name: str) -> Any:
        """A new component, not checked yet."""
        component = self._built[f"{kind}.{name}"] = self.component(kind, name).build(self.embedder)
        return component

    def pipeline(self, kind: Kind, name: str) -> Pipeline:
        """The call pipeline of that component."""
        if (kind, name) not in self._pipelines:
            self._pipelines[kind, name] = self._build_pipeline(kind, name)
        return self._pipelines[kind, name]

    def strategy(self, name: str) -> Any:
        """The strategy of that name, which may have a reader, as in "rag:small"."""
        return self._single("strategy", split_reader(name)[0])

    def checker(self, name: str) -> Any:
        """The checker of that name."""
        return self._single("checker", name)

    def recorder(self, name: str) -> Any:
        """The recorder of that name, None if its option `enabled` is false."""
        with self._recording:
            is_off = getattr(self.component("recorder", name).options, "enabled", True) is False
            return None if is_off else self._single("recorder", name)

    def _single(self, kind: Kind, name: str) -> Any:
        """The component that no pipeline calls, built and checked once."""
        if (kind, name) not in self._singles:
            component = self.build(kind, name)
            check_component(kind, name, component)
            self._singles[kind, name] = component
        return self._singles[kind, name]

    def corrector(self, name: str) -> Any:
        """The strategy of that name. Raises ConfigError if it does not correct passages."""
        self.check_corrects(name)
        return self.strategy(name)

    def embedder(self, name: str) -> EmbedderHandle:
        """The handle of the embedder `name` ("": the default one). Builds nothing."""
        from .embedding import Handle

        return Handle(name, self._embedder)

    def _embedder(self, name: str) -> Pipeline:
        found = self.pipeline("embedder", name) if name else self.default("embedder")
        if found is None:
            raise MissingError(
                "This needs an embedder, and none is configured.",
                hint="Name one with `embedder = ...` under [defaults]. `rqa plugins` lists them.",
            )
        return found

    def default(self, kind: Kind) -> Pipeline | None:
        """The call pipeline of the default component of that kind. None if there is none."""
        if kind != "retriever" and (named := getattr(self.defaults, kind)) is not None:
            return self.pipeline(kind, named)
        configured = self.config.names(kind)
        if len(configured) == 1:
            return self.pipeline(kind, configured[0])
        chosen = [registration.name for registration in self.host.components(kind) if registration.rank > 0]
        if kind == "retriever":  # configured ones first, in the same order as `rqa index`
            chosen = [*dict.fromkeys((*self.indexing(configured), *chosen))]
        for each in chosen:
            try:
                if each not in configured and not self.has_embedders(kind, each):
                    continue
                return self.pipeline(kind, each)
            except ConfigError:
                if each in configured:
                    raise
            except MissingError:
                continue  # its model or index is missing
        return None

    def judging(self) -> Pipeline | None:
        """The call pipeline of the first evaluator that judges claims, configured or installed. None without one."""
        installed = (each.name for each in self.host.components("evaluator") if each.rank > 0)
        for name in dict.fromkeys(filter(None, (self.defaults.evaluator, *self.config.names("evaluator"), *installed))):
            with suppress(RqaError):  # its model is missing
                if self.has("evaluator", name, "judge"):
                    return self.pipeline("evaluator", name)
        return None

    @property
    def calls(self) -> int:
        """The number of calls in flight, without those of the relay."""
        return sum(pipeline.in_flight for pipeline in self._pipelines.values())

    async def close(self) -> list[str]:
        """End all calls and close all components. Returns what went wrong, one text for each component."""
        await asyncio.gather(*(each.end() for each in self._pipelines.values()))
        # A worker thread cannot be stopped, and closing its component while it runs is not safe.
        busy = {each.name for each in self._pipelines.values() if each.busy}
        idle = [(name, component) for name, component in self._built.items() if name not in busy]
        return [*filter(None, await asyncio.gather(*(closed(*each) for each in idle)))]

    def _build_pipeline(self, kind: Kind, name: str) -> Pipeline:
        part = self.component(kind, name)
        component = self.build(kind, name)
        with part.attributed():
            check_component(kind, name, component)
            # Called for every component: it raises if an index or a model is missing.
            fingerprint = component.fingerprint() if hasattr(component, "fingerprint") else None
        digest = hashlib.sha256(repr((*part.identity, fingerprint or "")).encode("utf-8", "replace")).hexdigest()
        # A store may change at any time, so a retriever has to say how long its results hold.
        holds = kind != "retriever" or fingerprint is not None or getattr(component, "max_age", None) is not None
        # Components with `needs` call others, whose results are cached.
        cached = holds and getattr(component, "cached", True) and not hasattr(component, "needs")
        return Pipeline(
            f"{kind}.{name}",
            component,
            part.limits,
            options=part.options,
            identity=digest if cached else None,
            digest=digest,
            fingerprint=fingerprint,
            cache=self.cache,
            relay=lambda: self.relay,
        )
