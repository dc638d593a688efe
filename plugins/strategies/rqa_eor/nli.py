"""The similarity `nli`: the probability that one answer entails another.

The classifier is the folder of a sequence-classification checkpoint with a label `entailment`, as transformers saves
it: BERT, DeBERTa-v3, BART, ModernBERT and so on. It needs the extra robust-qa[nli].
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robust_qa import ConfigError, MissingError
from robust_qa.kit import even_batches, install_hint, whole_characters

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from robust_qa import Toolbox

_BATCH = 16_000  # characters in a batch, including padding
_LONGEST = 512  # tokens of a pair
_CACHE_SIZE = 100_000  # pairs
_HINT = "Set `nli_model` to the folder of a sequence-classification checkpoint with its tokenizer."


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


class Classifier:
    """The classifier in `folder`, loaded on first use, on a GPU if there is one.

    Raises MissingError if the folder has no checkpoint, ConfigError if torch or transformers is not installed.
    """

    def __init__(self, folder: Path) -> None:
        if not (folder / "config.json").is_file():
            raise MissingError(f"{folder} is not a classifier: it has no config.json.", hint=_HINT)
        if missing := [name for name in ("torch", "transformers") if find_spec(name) is None]:
            raise ConfigError(
                f"The classifier in {folder} needs {' and '.join(missing)}.",
                hint=f"Run `{install_hint('nli')}`.",
            )
        self._folder = folder
        self._lock = threading.Lock()

    def entailment(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return for each pair the probability that the first text entails the second."""
        import torch

        with self._lock:
            tokenizer, model, entailment, limit = self._loaded
            clean = [tuple(map(whole_characters, pair)) for pair in pairs]
            probabilities = [0.0] * len(pairs)
            for batch in even_batches([len(one) + len(other) for one, other in clean], _BATCH, 1):
                ones, others = zip(*(clean[n] for n in batch), strict=True)
                inputs = tokenizer(
                    list(ones), list(others), padding=True, truncation=True, max_length=limit, return_tensors="pt",
                    split_special_tokens=True,  # a "[SEP]" in a text is plain text
                )  # fmt: skip
                with torch.inference_mode():
                    found = model(**inputs.to(model.device)).logits.float().softmax(-1)[:, entailment]
                for n, probability in zip(batch, found.tolist(), strict=True):
                    probabilities[n] = probability
        return probabilities

    @cached_property
    def _loaded(self) -> tuple[Any, Any, int, int]:
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer
        from transformers.utils import logging

        logging.disable_progress_bar()
        try:
            tokenizer = AutoTokenizer.from_pretrained(self._folder, local_files_only=True)
            model = AutoModelForSequenceClassification.from_pretrained(
                self._folder, dtype=torch.float32, local_files_only=True
            )
        except Exception as error:  # transformers raises many kinds of errors
            raise MissingError(f"Cannot load the classifier in {self._folder}: {error}.", hint=_HINT) from error
        model = model.to("cuda" if torch.cuda.is_available() else "cpu").eval()
        return tokenizer, model, _entailment_label(model.config), _longest_pair(model.config)


def _entailment_label(config: Any) -> int:
    """Return the index of the label `entailment`. Raises ConfigError if there is none."""
    found = [number for number, label in config.id2label.items() if str(label).lower() == "entailment"]
    if not found:
        raise ConfigError(
            f"The model has the labels {', '.join(map(str, config.id2label.values()))}, but no entailment.",
            hint='Set id2label in its config.json: {"0": "contradiction", "2": "entailment"}.',
        )
    return int(found[0])


def _longest_pair(config: Any) -> int:
    """Return the number of tokens of the longest pair that the model reads."""
    reserved = config.pad_token_id + 1 if "roberta" in config.model_type else 0  # RoBERTa counts positions from there
    positions = getattr(config, "max_position_embeddings", None)
    return min(_LONGEST, int(positions) - reserved) if positions else _LONGEST
