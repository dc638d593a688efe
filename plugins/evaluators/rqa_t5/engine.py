"""A loaded model that scores pairs of texts on all cores."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robust_qa import MissingError
from robust_qa.kit import cores, even_batches

from .folder import Settings, hint, read_settings
from .pairs import Pair, Pairing, empty

CHUNK = 256  # tokens in a batch, including padding; larger batches leave the CPU cache
EMPTY_SCORE = -1.0  # of an empty text, as in the published code


class Engine:
    """The model in `folder` with `threads` workers (0: one for each core of this process).

    Workers take batches of similar length. Few inputs make small batches, so that one question uses every core. The
    engine is thread-safe. `compute` is CTranslate2's compute type: in int8 a T5 overflows on processors without VNNI,
    and gets wrong scores. Raises MissingError if the model cannot be loaded.
    """

    def __init__(self, folder: Path, threads: int = 0, *, compute: str = "float32") -> None:
        self.settings: Settings = read_settings(folder)
        self._workers = threads or cores()
        try:
            from . import shapes

            self.pairing = Pairing.of(folder, self.settings)
            self._logits = shapes.load(
                folder,
                self.settings,
                self.pairing,
                inter_threads=self._workers,
                intra_threads=1,
                compute_type=compute,
            )
        except Exception as error:  # each library raises its own errors
            raise MissingError(f"Cannot load the evaluator in {folder}: {error}.", hint=hint(folder)) from error
        self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="rqa-t5")

    def score(self, questions_and_texts: Sequence[tuple[str, str]]) -> list[float]:
        """Return the score of each (question, text), in [-1, 1]."""
        pairs = {
            n: self.pairing.pair(question, text)
            for n, (question, text) in enumerate(questions_and_texts)
            if not empty(text)
        }
        scores = np.full(len(questions_and_texts), EMPTY_SCORE)
        if pairs:
            scores[list(pairs)] = self.activate(self.logits(list(pairs.values())))
        return [float(score) for score in scores]

    def logits(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Return the logit of each pair."""
        lengths = [len(pair.ids) for pair in pairs]
        groups = even_batches(lengths, CHUNK, self._workers)
        found = np.empty(len(pairs))
        chunks = ([pairs[n] for n in group] for group in groups)
        for group, logits in zip(groups, self._pool.map(self._logits, chunks), strict=True):
            found[group] = logits
        return found

    def activate(self, logits: NDArray[np.float64]) -> NDArray[np.float64]:
        """Map logits to scores in [-1, 1]."""
        return np.tanh(logits / 2) if self.settings.activation == "logistic" else np.clip(logits, -1, 1)

    def close(self) -> None:
        """Stop the workers. The model is freed with this object."""
        self._pool.shutdown()
