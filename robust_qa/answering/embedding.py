"""The handle through which a component uses an embedder."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from ..calls.pipeline import Pipeline
from ..calls.trace import Trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Handle:
    """The EmbedderHandle of the embedder `name` ("": the default one). `pipeline` returns its call pipeline."""

    def __init__(self, name: str, pipeline: Callable[[str], Pipeline]) -> None:
        self._name = name
        self._build = pipeline

    @cached_property
    def _pipeline(self) -> Pipeline:
        return self._build(self._name)

    @property
    def name(self) -> str:
        """The name in the configuration."""
        return self._name or self._pipeline.name.partition(".")[2]

    @property
    def identity(self) -> str:
        """A digest of plugin, version, options and fingerprint."""
        return self._pipeline.digest

    @property
    def languages(self) -> Collection[str] | None:
        """The ISO 639 codes of the languages that it knows, None if it does not say."""
        known: Collection[str] | None = getattr(self._pipeline.component, "languages", None)
        return known

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of length 1, shape (len(texts), width). Shape (0, 0) without texts."""
        return await self._pipeline.embed(texts, Trace(detailed=False))

    async def embed_query(self, question: str) -> NDArray[np.float32]:
        """The vector of a question, which the embedder reads after its `query_prefix`."""
        prefix: str = getattr(self._pipeline.component, "query_prefix", "")
        vector: NDArray[np.float32] = (await self.embed([prefix + question]))[0]
        return vector
