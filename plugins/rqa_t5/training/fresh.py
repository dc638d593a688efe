"""A small label T5 from nothing: a vocabulary of the data's own words, and random weights."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from ..folder import Settings
from ..pairs import LABEL_TEMPLATE
from .checkpoints import Checkpoint

LABELS = ("<true>", "<false>")
_SPECIAL = ["<pad>", "</s>", "<unk>", *LABELS]
_HEAD = 32  # width of an attention head


def vocabulary(texts: Iterable[str], size: int) -> Tokenizer:
    """A BPE tokenizer, without case, with T5's special tokens at T5's places and the two labels after them."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))  # noqa: S106
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Metaspace(), pre_tokenizers.Punctuation(), pre_tokenizers.Digits(individual_digits=True)]
    )
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=_SPECIAL, limit_alphabet=1000, min_frequency=2, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def checkpoint(tokenizer: Tokenizer, *, width: int, layers: int, length: int) -> Checkpoint:
    """A T5 of `layers` encoder layers and one decoder layer, with random weights (torch's seed decides)."""
    import transformers

    config = transformers.T5Config(
        vocab_size=tokenizer.get_vocab_size(),
        d_model=width,
        d_kv=_HEAD,
        d_ff=4 * width,
        num_layers=layers,
        num_decoder_layers=1,
        num_heads=max(1, width // _HEAD),
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
    )
    model: Any = transformers.T5ForConditionalGeneration(config)
    settings = Settings(shape="label", template=LABEL_TEMPLATE, length=length, labels=LABELS)
    return Checkpoint("a T5 from nothing", model, tokenizer, settings)
