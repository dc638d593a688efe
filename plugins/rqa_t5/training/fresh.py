"""A small label T5 from nothing: a vocabulary of the data's own words, and weights that compare words (matching.py)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from ..folder import Settings
from . import matching
from .checkpoints import Checkpoint

LABELS = ("<true>", "<false>")
_SPECIAL = ["<pad>", "</s>", "<unk>", *LABELS]
_LETTERS = 1000  # the most frequent ones are tokens, whatever else there is

Vectors = Callable[[list[str]], NDArray[np.floating]]  # of each word, (words, width)


def vocabulary(texts: Sequence[str], size: int) -> Tokenizer:
    """A BPE tokenizer, without case, with T5's special tokens at T5's places and the two labels after them.

    Equal texts give an equal one.
    """
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))  # noqa: S106
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Metaspace(), pre_tokenizers.Punctuation(), pre_tokenizers.Digits(individual_digits=True)]
    )
    tokenizer.decoder = decoders.Metaspace()
    # The trainer's own limit would leave to chance which of equally rare letters it drops.
    counts = Counter[str]()
    for text in texts:
        counts.update(tokenizer.normalizer.normalize_str(text))
    del counts[" "]  # the pre-tokenizer writes SPACE for it
    letters = sorted(counts, key=lambda letter: (-counts[letter], letter))[:_LETTERS]
    alphabet = list({matching.ASKED, matching.TOLD, matching.SPACE, *letters})
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=_SPECIAL, limit_alphabet=len(alphabet), min_frequency=2, show_progress=False,
        initial_alphabet=alphabet,
    )  # fmt: skip
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def checkpoint(
    tokenizer: Tokenizer, texts: Sequence[str], vectors: Vectors | None, *, width: int, layers: int, length: int
) -> Checkpoint:
    """A T5 of `layers` encoder layers, two at least, and one decoder layer; what is random in it torch's seed decides.

    Of `texts` it has how rare each token is; where `vectors` are given, they tell it which words are alike.
    """
    import transformers

    heads, wide = matching.heads(width)
    config = transformers.T5Config(
        vocab_size=tokenizer.get_vocab_size(),
        d_model=width,
        d_kv=wide,
        d_ff=4 * width,
        num_layers=layers,
        num_decoder_layers=1,
        num_heads=heads,
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
        dropout_rate=0.0,  # on a CPU drawing it takes half of a step, and a few passes overfit little
    )
    model: Any = transformers.T5ForConditionalGeneration(config)
    words = None if vectors is None else vectors(_words(tokenizer))
    matching.begin(model, tokenizer, _rarity(tokenizer, texts), words)
    settings = Settings(shape="label", template=matching.TEMPLATE, length=length, labels=LABELS)
    return Checkpoint("a T5 from nothing", model, tokenizer, settings)


def _words(tokenizer: Tokenizer) -> list[str]:
    """What each token says, by its id; a space alone says nothing, but no evaluator has vectors of that."""
    tokens = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    return [token.replace(matching.SPACE, " ").strip() or "." for token, _ in tokens]


def _rarity(tokenizer: Tokenizer, texts: Sequence[str]) -> NDArray[np.floating]:
    """The logarithm of each token's inverse document frequency, (tokens,)."""
    counts = np.zeros(tokenizer.get_vocab_size())
    for coded in tokenizer.encode_batch(list(texts), add_special_tokens=False):
        counts[list(set(coded.ids))] += 1
    rarity: NDArray[np.floating] = np.log((len(texts) + 1) / (counts + 1))
    return rarity
