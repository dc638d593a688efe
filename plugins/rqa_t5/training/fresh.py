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
    """A T5 of `layers` encoder layers and one decoder layer, with random weights (torch's seed decides).

    Attention begins by finding the same word: keys are queries (mimetic initialisation: Trockman and Kolter, 2023,
    section 3), and half of the heads pass over the word itself. Matching then need not be learnt from nothing.
    """
    import torch
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
        dropout_rate=0.0,  # on a CPU drawing it takes half of a step, and a few passes overfit little
    )
    model: Any = transformers.T5ForConditionalGeneration(config)
    with torch.no_grad():
        attention = [block.layer[0].SelfAttention for block in model.encoder.block]
        for one in attention:
            one.k.weight.copy_(one.q.weight * _HEAD**0.5)  # T5's scale of keys; a word with itself has that score
        attention[0].relative_attention_bias.weight[0, ::2] -= _HEAD**0.5  # of distance 0; all layers have it
    settings = Settings(shape="label", template=LABEL_TEMPLATE, length=length, labels=LABELS)
    return Checkpoint("a T5 from nothing", model, tokenizer, settings)
