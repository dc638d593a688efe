"""Create a small label T5: a vocabulary from the data, and the initial weights of matching.py."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from rqa_t5.folder import Settings

from . import matching
from .checkpoints import Checkpoint

LABELS = ("<true>", "<false>")
_SPECIAL = ["<pad>", "</s>", "<unk>", *LABELS]
_LETTERS = 1000  # the most frequent letters are always tokens

Vectors = Callable[[list[str]], NDArray[np.floating]]  # of each word, (words, width)


def vocabulary(texts: Sequence[str], size: int) -> Tokenizer:
    """Return a lower-case BPE tokenizer with T5's special tokens at T5's ids, followed by the two labels.

    The same texts give the same tokenizer.
    """
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))  # noqa: S106
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Metaspace(), pre_tokenizers.Punctuation(), pre_tokenizers.Digits(individual_digits=True)]
    )
    tokenizer.decoder = decoders.Metaspace()
    # With the trainer's own limit, the choice between equally rare letters is random.
    counts = Counter[str]()
    for text in texts:
        counts.update(tokenizer.normalizer.normalize_str(text))
    del counts[" "]  # the pre-tokenizer replaces it with SPACE
    letters = sorted(counts, key=lambda letter: (-counts[letter], letter))[:_LETTERS]
    alphabet = list({matching.QUESTION_MARK, matching.TEXT_MARK, matching.SPACE, *letters})
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=_SPECIAL, limit_alphabet=len(alphabet), min_frequency=2, show_progress=False,
        initial_alphabet=alphabet,
    )  # fmt: skip
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def checkpoint(
    tokenizer: Tokenizer, texts: Sequence[str], vectors: Vectors | None, *, width: int, layers: int, length: int
) -> Checkpoint:
    """Return a new T5 with `layers` encoder layers (at least two) and one decoder layer.

    `texts` determine the rarity of tokens, `vectors` the similar words. Random weights depend on torch's seed.
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
        dropout_rate=0.0,  # dropout takes half of the time on a CPU
    )
    model: Any = transformers.T5ForConditionalGeneration(config)
    words = None if vectors is None else vectors(_words(tokenizer))
    matching.initialise(model, tokenizer, _rarity(tokenizer, texts), words)
    settings = Settings(shape="label", template=matching.TEMPLATE, length=length, labels=LABELS)
    return Checkpoint("a new T5", model, tokenizer, settings)


def _words(tokenizer: Tokenizer) -> list[str]:
    """Return the text of each token by id, and "." for a space because evaluators have no vector for it."""
    tokens = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    return [token.replace(matching.SPACE, " ").strip() or "." for token, _ in tokens]


def _rarity(tokenizer: Tokenizer, texts: Sequence[str]) -> NDArray[np.floating]:
    """Return the logarithm of each token's inverse document frequency, (tokens,)."""
    counts = np.zeros(tokenizer.get_vocab_size())
    for encoding in tokenizer.encode_batch(list(texts), add_special_tokens=False):
        counts[list(set(encoding.ids))] += 1
    rarity: NDArray[np.floating] = np.log((len(texts) + 1) / (counts + 1))
    return rarity
