"""The configured components and their call pipelines, each built on first use."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

from ..calls.cache import Cache
from ..calls.contract import check_component, closed
from ..calls.pipeline import Pipeline
from ..errors import ConfigError, MissingError
from ..protocols import EmbedderHandle
from ..types import Kind
from .assembly import Assembly
from .embedding import Handle
from .waves import Waves


class Pipelines:
    """Builds the components of `assembly`. Call `close` at the end.

    `cache`: where the pipelines store results. Set it before the first use; None stores nothing.
    `waves`: collects the calls for providers' batches. Set it before the first use; None makes ordinary calls.
    """

    def __init__(self, assembly: Assembly, cache: Cache | None = None) -> None:
        self.assembly = assembly
        self.cache = cache
        self.waves: Waves | None = None
        self._pipelines: dict[tuple[Kind, str], Pipeline] = {}
        self._built: dict[str, Any] = {}  # to close at the end, including components that failed a check

    def build(self, kind: Kind, name: str) -> Any:
        """A new component, not checked yet."""
        component = self._built[f"{kind}.{name}"] = self.assembly.part(kind, name).build(self.embedder)
        return component

    def pipeline(self, kind: Kind, name: str) -> Pipeline:
        """The call pipeline of that component."""
        if (kind, name) not in self._pipelines:
            self._pipelines[kind, name] = self._build_pipeline(kind, name)
        return self._pipelines[kind, name]

    def embedder(self, name: str) -> EmbedderHandle:
        """The handle of the embedder `name` ("": the default one). Builds nothing."""
        return Handle(name, self._embedder)

    def _embedder(self, name: str) -> Pipeline:
        found = self.chosen("embedder", name or self.assembly.defaults.embedder)
        if found is None:
            raise MissingError(
                "This needs an embedder, and none is configured.",
                hint="Name one with `embedder = ...` under [defaults]. `rqa plugins` lists them.",
            )
        return found

    def chosen(self, kind: Kind, name: str | None) -> Pipeline | None:
        """The pipeline of the component `name`, or of the default one of that kind. None if there is none."""
        if name is not None:
            return self.pipeline(kind, name)
        configured = self.assembly.config.names(kind)
        if len(configured) == 1:
            return self.pipeline(kind, configured[0])
        chosen = [registration.name for registration in self.assembly.host.components(kind) if registration.rank > 0]
        if kind == "retriever":  # configured ones first, in the same order as `rqa index`
            chosen = [*dict.fromkeys((*self.assembly.indexing(configured), *chosen))]
        for each in chosen:
            try:
                if each not in configured and not self.assembly.has_embedders(kind, each):
                    continue
                return self.pipeline(kind, each)
            except ConfigError:
                if each in configured:
                    raise
            except MissingError:
                continue  # its model or index is missing
        return None

    async def close(self) -> list[str]:
        """End all calls and close all components. Returns what went wrong, one text for each component."""
        await asyncio.gather(*(each.end() for each in self._pipelines.values()))
        if self.waves is not None:
            self.waves.close()
        # A worker thread cannot be stopped, and closing its component while it runs is not safe.
        busy = {each.name for each in self._pipelines.values() if each.busy}
        idle = [(name, component) for name, component in self._built.items() if name not in busy]
        return [failure for each in idle if (failure := await closed(*each))]

    def _build_pipeline(self, kind: Kind, name: str) -> Pipeline:
        part = self.assembly.part(kind, name)
        component = self.build(kind, name)
        with part.attributed():
            check_component(kind, name, component)
            # Called for every component: it raises if an index or a model is missing.
            fingerprint = component.fingerprint() if hasattr(component, "fingerprint") else None
        digest = hashlib.sha256(repr((*part.identity, fingerprint or "")).encode("utf-8", "replace")).hexdigest()
        # Components with `needs` call others, whose results are cached.
        cached = getattr(component, "cached", True) and not hasattr(component, "needs")
        pipeline = Pipeline(
            f"{kind}.{name}",
            component,
            part.limits,
            options=part.options,
            identity=digest if cached else None,
            digest=digest,
            fingerprint=fingerprint,
            cache=self.cache,
        )
        if self.waves is not None:
            self.waves.add(pipeline)
        return pipeline
