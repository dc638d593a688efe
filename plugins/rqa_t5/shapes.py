"""The three shapes of model, each from inputs to one logit a pair, on CTranslate2.

They equal torch in fp32 to about 1e-5, which `training.conversion` proves of every model that it writes.
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

# The target vocabulary of a converted label T5: one step is decoded, and nothing else can be said in it.
LABEL_PLACE = 3  # after what the decoder starts with (<pad>), </s> and <unk>
EOS_PLACE = 1  # the row that a converted classifier's dense layer has besides its own: T5's id of </s>


def load(folder: Path, settings: Settings, pairing: Pairing, **engine: Any) -> Logits:
    """What computes the logits of the model in `folder`; `engine` are CTranslate2's own arguments."""
    if settings.shape == "cross-encoder":
        return _cross_encoder(ctranslate2.Encoder(str(folder), **engine), *_head(folder))
    translator = ctranslate2.Translator(str(folder), **engine)
    vocabulary = pairing.vocabulary()
    if settings.shape == "label":
        return _label(translator, vocabulary)
    return _classifier(translator, vocabulary, *_head(folder))


def _label(translator: Any, vocabulary: list[str]) -> Logits:
    """One decoding step; the logit is that of the first label less that of the second (monoT5)."""

    def logits(pairs: Sequence[Pair]) -> Floats:
        # Greedy: a beam returns no logits.
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
    """T5ForSequenceClassification, whose decoder reads the input again, shifted by one.

    The head's dense layer stands in the decoder's projection, so that forced decoding of the input yields its output
    at every position; the last one counts. Exact, and slow: a step for each token.
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
    """BERT's pooled output through the classifier, which CTranslate2 has no place for."""

    def logits(pairs: Sequence[Pair]) -> Floats:
        output = encoder.forward_batch([pair.ids for pair in pairs], token_type_ids=_padded(pairs))
        return _relevance(np.asarray(output.pooler_output, np.float32) @ weight.T + bias)

    return logits


def _padded(pairs: Sequence[Pair]) -> list[list[int]]:
    longest = max(len(pair.ids) for pair in pairs)
    return [pair.types + [0] * (longest - len(pair.types)) for pair in pairs]


def _relevance(outputs: Floats) -> Floats:
    """One logit a row: the only output, or the second of two less the first, as `num_labels` has it."""
    found: Floats = outputs[:, 0] if outputs.shape[1] == 1 else outputs[:, 1] - outputs[:, 0]
    return found


def _head(folder: Path) -> tuple[Floats, Floats]:
    with np.load(folder / HEAD, allow_pickle=False) as head:
        return head["weight"], head["bias"]
