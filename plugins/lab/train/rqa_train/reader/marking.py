"""The torch version of the engine, so that the same code measures both."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rqa_embedded.engine import Marks, Settings

if TYPE_CHECKING:
    from .model import SpanReader


class InTorch:
    """A SpanReader in fp32 with the interface of an Engine."""

    def __init__(self, model: SpanReader, tokenizer_file: Path, settings: Settings) -> None:
        from tokenizers import Tokenizer

        self._model = model
        self.settings = settings
        self._tokenizer = Tokenizer.from_file(str(tokenizer_file))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._tokenizer.encode_special_tokens = True

    @property
    def ends(self) -> tuple[int, int]:
        ids = self._tokenizer.get_vocab()
        return ids["[CLS]"], ids["[SEP]"]

    def tokens(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        coded = self._tokenizer.encode(text, add_special_tokens=False)
        return coded.ids, coded.offsets

    def mark(self, windows: Sequence[tuple[list[int], list[int]]], at_once: int = 32) -> list[Marks]:
        import torch

        from .encoding import Example
        from .train import collate

        model = self._model
        order = sorted(range(len(windows)), key=lambda n: len(windows[n][0]))
        results: dict[int, Marks] = {}
        for at in range(0, len(order), at_once):
            group = order[at : at + at_once]
            tensors = collate([Example(*windows[n], [0], [0], False, n) for n in group])
            device = next(model.parameters()).device
            with torch.no_grad():
                scores = model(*(tensors[name].to(device) for name in ("ids", "types", "mask")))
            start, end, *passage = (part.float().cpu().numpy() for part in scores)
            for row, n in enumerate(group):
                size = len(windows[n][0])
                results[n] = Marks(start[row, :size], end[row, :size], *(float(part[row]) for part in passage))
        return [results[n] for n in range(len(windows))]

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a unit vector of each text, (texts, width)."""
        import torch

        from .encoding import Example
        from .train import collate

        device = next(self._model.parameters()).device
        begin, end = self.ends
        coded = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        found = [[begin, *one.ids[: self.settings.length - 2], end] for one in coded]
        part = collate([Example(ids, [0] * len(ids), [0], [0], False, n) for n, ids in enumerate(found)])
        with torch.no_grad(), torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type != "cpu"):
            vectors = self._model.embed(part["ids"].to(device), part["mask"].to(device))
        found_vectors: NDArray[np.float32] = vectors.cpu().numpy()
        return found_vectors
