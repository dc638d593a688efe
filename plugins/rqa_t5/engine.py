"""A loaded model: pairs of texts in, scores out, over all cores."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robust_qa import MissingError
from robust_qa.kit import cores, even_batches

from .folder import Settings, check, read_settings
from .pairs import Pair, Pairing, empty

CHUNK = 256  # tokens of one engine batch, padding included: it is computed, too, and larger ones fall out of the cache
NOTHING = -1.0  # the score of an empty text, as in the published code


class Engine:
    """The model in `folder` with one worker a core (`threads`; 0: all that this process may use).

    Inputs are sorted by length and dealt to the workers in chunks, smaller ones where there is little to do, so that
    one question's passages keep every core busy, too. Safe to use from several threads. Raises MissingError where
    the folder is not whole or cannot be loaded; `compute` is CTranslate2's type of computation.
    """

    def __init__(self, folder: Path, threads: int = 0, *, compute: str = "default") -> None:
        check(folder, contents=True)
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
        except Exception as error:  # each of the libraries has its own
            raise MissingError(
                f"The evaluator in {folder} cannot be loaded: {error}.",
                hint="Write it again with `rqa evaluator convert`, by the versions that are installed here.",
            ) from error
        self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="rqa-t5")

    def score(self, questions_and_texts: Sequence[tuple[str, str]]) -> list[float]:
        """The score of each (question, text), in order, in [-1, 1]."""
        pairs = {
            n: self.pairing.pair(question, text)
            for n, (question, text) in enumerate(questions_and_texts)
            if not empty(text)
        }
        scores = np.full(len(questions_and_texts), NOTHING)
        if pairs:
            scores[list(pairs)] = self.activate(self.logits(list(pairs.values())))
        return [float(score) for score in scores]

    def logits(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """The logit of each pair, in order."""
        lengths = [len(pair.ids) for pair in pairs]
        groups = even_batches(lengths, CHUNK, self._workers)
        found = np.empty(len(pairs))
        chunks = ([pairs[n] for n in group] for group in groups)
        for group, logits in zip(groups, self._pool.map(self._logits, chunks), strict=True):
            found[group] = logits
        return found

    def activate(self, logits: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores in [-1, 1] from logits."""
        return np.tanh(logits / 2) if self.settings.activation == "logistic" else np.clip(logits, -1, 1)

    def close(self) -> None:
        """Let the workers end; the model is freed with this object."""
        self._pool.shutdown()
