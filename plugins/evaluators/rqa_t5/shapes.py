"""The three shapes of models on CTranslate2. Each computes one logit for a pair.

`rqa evaluator convert` checks for every model that the fp32 logits agree with torch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import ctranslate2
import numpy as np
from numpy.typing import NDArray

from .folder import HEAD, Settings
from .pairs import Pair, Pairing

Floats: TypeAlias = NDArray[np.float32]
Logits: TypeAlias = Callable[[Sequence[Pair]], Floats]

LABEL_PLACE = 3  # first label in the target vocabulary of a label T5, after <pad>, </s> and <unk>
EOS_PLACE = 1  # extra row in the dense layer of a converted classifier: T5's id of </s>


def load(folder: Path, settings: Settings, pairing: Pairing, **engine: Any) -> Logits:
    """Return the function that computes logits with the model in `folder`. `engine` holds CTranslate2's arguments."""
    if settings.shape == "cross-encoder":
        return _cross_encoder(ctranslate2.Encoder(str(folder), **engine), *_head(folder))
    translator = ctranslate2.Translator(str(folder), **engine)
    vocabulary = pairing.vocabulary()
    if settings.shape == "label":
        return _label(translator, vocabulary)
    return _classifier(translator, vocabulary, *_head(folder))


def _label(translator: Any, vocabulary: list[str]) -> Logits:
    """Decode one step. The logit is the first label's minus the second label's (monoT5)."""

    def logits(pairs: Sequence[Pair]) -> Floats:
        # Beam search returns no logits.
        results = translator.translate_batch(
            [[vocabulary[n] for n in pair.ids] for pair in pairs],
            beam_size=1,
            max_decoding_length=1,
            min_decoding_length=0,
            max_input_length=0,
            return_logits_vocab=True,
        )
        steps = np.stack([np.asarray(result.logits[0][0], np.float32) for result in results])
        return _relevance(steps[:, [LABEL_PLACE + 1, LABEL_PLACE]])

    return logits


def _classifier(translator: Any, vocabulary: list[str], weight: Floats, bias: Floats) -> Logits:
    """Run a T5ForSequenceClassification, whose decoder reads the input again, shifted by one.

    The head's dense layer is stored as the decoder's projection. Forced decoding of the input returns its output at
    every position; the last one counts. This takes one step for each token.
    """

    def logits(pairs: Sequence[Pair]) -> Floats:
        sources = [[vocabulary[n] for n in pair.ids] for pair in pairs]
        results = translator.translate_batch(
            sources,
            [source[:-1] for source in sources],
            beam_size=1,
            max_decoding_length=max(map(len, sources)),
            min_decoding_length=0,
            max_input_length=0,
            return_logits_vocab=True,
        )
        last = [result.logits[0][len(source) - 1] for result, source in zip(results, sources, strict=True)]
        dense = np.delete(np.stack([np.asarray(step, np.float32) for step in last]), EOS_PLACE, axis=1)
        return _relevance(np.tanh(dense) @ weight.T + bias)

    return logits


def _cross_encoder(encoder: Any, weight: Floats, bias: Floats) -> Logits:
    """Apply the classifier to BERT's pooled output, because CTranslate2 does not."""

    def logits(pairs: Sequence[Pair]) -> Floats:
        output = encoder.forward_batch([pair.ids for pair in pairs], token_type_ids=_padded(pairs))
        return _relevance(np.asarray(output.pooler_output, np.float32) @ weight.T + bias)

    return logits


def _padded(pairs: Sequence[Pair]) -> list[list[int]]:
    longest = max(len(pair.ids) for pair in pairs)
    return [pair.types + [0] * (longest - len(pair.types)) for pair in pairs]


def _relevance(outputs: Floats) -> Floats:
    """Return one logit for each row: the only output, or the second minus the first."""
    found: Floats = outputs[:, 0] if outputs.shape[1] == 1 else outputs[:, 1] - outputs[:, 0]
    return found


def _head(folder: Path) -> tuple[Floats, Floats]:
    with np.load(folder / HEAD, allow_pickle=False) as head:
        return head["weight"], head["bias"]
