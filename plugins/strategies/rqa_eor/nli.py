"""The similarity `nli`: the probability that one answer entails another.

The classifier is a folder: a BERT or RoBERTa written by rqa_eor.convert, which runs on CTranslate2, or any checkpoint
for sequence classification, which runs on transformers. A converted folder holds the encoder, tokenizer.json, and
head.npz with the arrays of the classification head: `dense_weight`, `dense_bias`, `out_weight`, `out_bias`,
`entailment` (the index of that class) and `limit` (tokens of the longest pair).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from functools import cached_property
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from robust_qa import MissingError
from robust_qa.kit import even_batches, whole_characters

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from robust_qa import Toolbox

FILES = ("model.bin", "tokenizer.json", "head.npz")
_BATCH = 1024  # tokens in a batch, including padding
_CACHE_SIZE = 100_000  # pairs


class Classifier(Protocol):
    """Computes for each pair the probability that the first text entails the second."""

    def entailment(self, pairs: Sequence[tuple[str, str]]) -> list[float]: ...


def load(folder: Path) -> Classifier:
    """Return the classifier in `folder`, which loads on first use. Raises MissingError if a file is missing."""
    if (folder / "config.json").is_file() and not (folder / FILES[0]).is_file():
        from .checkpoint import Checkpoint

        return Checkpoint(folder)
    return Converted(folder)


class Nli:
    """The similarity by `classifier`. `with_question` puts the question before both answers."""

    def __init__(self, classifier: Classifier, *, with_question: bool = False) -> None:
        self._classifier = classifier
        self._with_question = with_question
        self._cache: dict[tuple[str, str], float] = {}

    async def compare(self, question: str, texts: Sequence[str], _: Toolbox) -> NDArray[np.float64]:
        """Return the probabilities of entailment, (d, d): the mean of both directions, and 1 on the diagonal."""
        import numpy as np

        sentences = [f"{question} {text}" for text in texts] if self._with_question else list(texts)
        known = {pair: self._cache.get(pair) for pair in permutations(sentences, 2)}
        new = [pair for pair, probability in known.items() if probability is None]
        if new:
            found = dict(zip(new, await asyncio.to_thread(self._classifier.entailment, new), strict=True))
            if len(self._cache) > _CACHE_SIZE:
                self._cache.clear()
            self._cache |= found
            known |= found
        probabilities = np.eye(len(sentences))
        for i, j in permutations(range(len(sentences)), 2):
            probabilities[i, j] = known[sentences[i], sentences[j]]
        mean: NDArray[np.float64] = (probabilities + probabilities.T) / 2
        return mean


class Converted:
    """A BERT or RoBERTa on CTranslate2, loaded on first use. Raises MissingError if a file is missing."""

    def __init__(self, folder: Path) -> None:
        missing = [name for name in FILES if not (folder / name).is_file()]
        if missing:
            raise MissingError(
                f"{folder} is not a classifier: it has no {', '.join(missing)}.",
                hint="Set `nli_model` to a checkpoint for sequence classification, or convert one with "
                "`python -m rqa_eor.convert CHECKPOINT FOLDER`.",
            )
        self._folder = folder
        self._lock = threading.Lock()

    def entailment(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return for each pair the probability that the first text entails the second."""
        with self._lock:
            encoder, tokenizer, head = self._model
        clean = [tuple(map(whole_characters, pair)) for pair in pairs]
        encoded = [(tokens.ids, tokens.type_ids) for tokens in tokenizer.encode_batch(clean)]
        probabilities = [0.0] * len(pairs)
        for batch in even_batches([len(ids) for ids, _ in encoded], _BATCH, 1):
            hidden = _first_tokens(encoder, [encoded[n] for n in batch])
            for n, probability in zip(batch, _probabilities(hidden, head), strict=True):
                probabilities[n] = float(probability)
        return probabilities

    @cached_property
    def _model(self) -> tuple[Any, Any, dict[str, Any]]:
        import ctranslate2
        import numpy as np
        from tokenizers import Tokenizer

        try:
            with np.load(self._folder / "head.npz") as arrays:
                head = dict(arrays)
            tokenizer = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
            tokenizer.encode_special_tokens = True  # a "[SEP]" in a text is plain text
            tokenizer.no_padding()
            tokenizer.enable_truncation(int(head["limit"]))
            return ctranslate2.Encoder(str(self._folder)), tokenizer, head
        except Exception as error:  # tokenizers raises plain Exception
            raise MissingError(
                f"Cannot load the classifier in {self._folder}: {error}.",
                hint="Convert it again with `python -m rqa_eor.convert CHECKPOINT FOLDER`.",
            ) from error


def _first_tokens(encoder: Any, encoded: Sequence[tuple[list[int], list[int]]]) -> NDArray[np.float32]:
    import numpy as np

    output = encoder.forward_batch([ids for ids, _ in encoded], token_type_ids=[types for _, types in encoded])
    hidden: NDArray[np.float32] = np.array(output.last_hidden_state)[:, 0]
    return hidden


def _probabilities(hidden: NDArray[np.float32], head: dict[str, Any]) -> NDArray[np.float32]:
    """Apply the head of both families to the first token: dense layer, tanh, linear layer, softmax."""
    import numpy as np

    logits = np.tanh(hidden @ head["dense_weight"].T + head["dense_bias"]) @ head["out_weight"].T + head["out_bias"]
    powers = np.exp(logits - logits.max(1, keepdims=True))
    probabilities: NDArray[np.float32] = powers[:, int(head["entailment"])] / powers.sum(1)
    return probabilities
