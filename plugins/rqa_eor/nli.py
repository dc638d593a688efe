"""The similarity `nli`: how likely a classifier of natural language inference holds one answer to follow from another.

The classifier is of the BERT or RoBERTa family, in CTranslate2's format, in a folder that rqa_eor.convert made: the
encoder (model.bin with its config.json and vocabulary), tokenizer.json, and head.npz with what CTranslate2 leaves out:
`dense_weight`, `dense_bias`, `out_weight`, `out_bias`, the number `entailment` of that class among the outputs, and
`limit`, the longest pair in tokens.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from functools import cached_property
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robust_qa import MissingError
from robust_qa.kit import even_batches, whole_characters

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from robust_qa import Toolbox

FILES = ("model.bin", "tokenizer.json", "head.npz")
_BATCH = 1024  # tokens computed at once, padding included
_REMEMBERED = 100_000  # pairs


class Nli:
    """The classifier in `folder`; `with_question` puts the question before both answers.

    It is loaded on first use. MissingError when the folder does not hold one.
    """

    def __init__(self, folder: Path, *, with_question: bool = False) -> None:
        lacking = [name for name in FILES if not (folder / name).is_file()]
        if lacking:
            are = "is" if len(lacking) == 1 else "are"
            raise MissingError(
                f"There is no classifier in {folder}: {', '.join(lacking)} {are} missing.",
                hint="Convert one: python -m rqa_eor.convert CHECKPOINT FOLDER",
            )
        self._folder = folder
        self._with_question = with_question
        self._known: dict[tuple[str, str], float] = {}
        self._loading = threading.Lock()

    async def compare(self, question: str, texts: Sequence[str], _: Toolbox) -> NDArray[np.float64]:
        """The probability of entailment, both ways by mean, (d, d); 1 of an answer with itself."""
        import numpy as np

        sentences = [f"{question} {text}" for text in texts] if self._with_question else list(texts)
        known = {pair: self._known.get(pair) for pair in permutations(sentences, 2)}
        new = [pair for pair, probability in known.items() if probability is None]
        if new:
            found = dict(zip(new, await asyncio.to_thread(self.entailment, new), strict=True))
            if len(self._known) > _REMEMBERED:
                self._known.clear()
            self._known |= found
            known |= found
        likely = np.eye(len(sentences))
        for i, j in permutations(range(len(sentences)), 2):
            likely[i, j] = known[sentences[i], sentences[j]]
        both: NDArray[np.float64] = (likely + likely.T) / 2
        return both

    def entailment(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The probability that the second text of each pair follows from the first."""
        with self._loading:
            encoder, tokenizer, head = self._model
        whole = [tuple(map(whole_characters, pair)) for pair in pairs]
        encoded = [(tokens.ids, tokens.type_ids) for tokens in tokenizer.encode_batch(whole)]
        likely = [0.0] * len(pairs)
        for batch in even_batches([len(ids) for ids, _ in encoded], _BATCH, 1):
            hidden = _first_tokens(encoder, [encoded[n] for n in batch])
            for n, probability in zip(batch, _probabilities(hidden, head), strict=True):
                likely[n] = float(probability)
        return likely

    @cached_property
    def _model(self) -> tuple[Any, Any, dict[str, Any]]:
        import ctranslate2
        import numpy as np
        from tokenizers import Tokenizer

        try:
            with np.load(self._folder / "head.npz") as arrays:
                head = dict(arrays)
            tokenizer = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
            tokenizer.encode_special_tokens = True  # "[SEP]" in a text is five characters
            tokenizer.no_padding()
            tokenizer.enable_truncation(int(head["limit"]))
            return ctranslate2.Encoder(str(self._folder)), tokenizer, head
        except Exception as error:  # tokenizers raises bare ones
            raise MissingError(
                f"The classifier in {self._folder} cannot be loaded: {error}.",
                hint="Convert it anew: python -m rqa_eor.convert CHECKPOINT FOLDER",
            ) from error


def _first_tokens(encoder: Any, encoded: Sequence[tuple[list[int], list[int]]]) -> NDArray[np.float32]:
    import numpy as np

    output = encoder.forward_batch([ids for ids, _ in encoded], token_type_ids=[types for _, types in encoded])
    hidden: NDArray[np.float32] = np.array(output.last_hidden_state)[:, 0]
    return hidden


def _probabilities(hidden: NDArray[np.float32], head: dict[str, Any]) -> NDArray[np.float32]:
    """Both families alike: a dense layer with tanh on the first token, a linear one, and the softmax of that."""
    import numpy as np

    logits = np.tanh(hidden @ head["dense_weight"].T + head["dense_bias"]) @ head["out_weight"].T + head["out_bias"]
    powers = np.exp(logits - logits.max(1, keepdims=True))
    likely: NDArray[np.float32] = powers[:, int(head["entailment"])] / powers.sum(1)
    return likely
