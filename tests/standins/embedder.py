"""Three documents, and the packaged model as an embedder that counts what it embeds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rqa_embedded import EmbeddedEmbedder

CAR = "The automobile broke down twice last week."
PANDA = "A panda eats bamboo for twelve hours a day."
BREAD = "Knead the dough for ten minutes and let it rise."


def write_documents(folder: Path) -> Path:
    """The documents car.txt, panda.txt and bread.txt, in a new folder."""
    folder.mkdir()
    for name, text in {"car": CAR, "panda": PANDA, "bread": BREAD}.items():
        (folder / f"{name}.txt").write_text(text)
    return folder


class Handle:
    """An embedder as an index gets it. `embedded` are the texts so far."""

    name = "embedded"
    languages = ("en",)

    def __init__(self, identity: str = "a") -> None:
        self.identity = identity
        self.embedded: list[str] = []
        self.embedder = EmbeddedEmbedder(EmbeddedEmbedder.Options(threads=1))

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.embedded += texts
        return self.embedder.embed(texts)

    async def embed_query(self, question: str) -> NDArray[np.float32]:
        [vector] = await self.embed([question])
        return vector
