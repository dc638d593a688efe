"""A tiny label T5 on CTranslate2 with random weights, made without torch; its folder is as the converter leaves one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from standins.tiny_models import t5_tokenizer

from rqa_t5.folder import TOKENIZER, Settings, settle
from rqa_t5.pairs import LABEL_TEMPLATE

WIDTH, HEADS = 32, 4


def write_model(folder: Path, *, length: int = 64, seed: int = 0) -> Path:
    """A model folder; equal seeds give equal ones."""
    from ctranslate2.specs import common_spec, transformer_spec

    rng = np.random.default_rng(seed)

    def random(*shape: int) -> Any:
        return rng.normal(0, 0.4, shape).astype(np.float32)

    def attention(part: Any, sizes: tuple[int, ...]) -> None:
        for linear, size in zip(part.linear, sizes, strict=True):
            linear.weight = random(size, WIDTH)
        part.layer_norm.gamma = np.ones(WIDTH, np.float32)
        part.queries_scale = 1.0

    spec = transformer_spec.TransformerSpec.from_config(
        (2, 1),
        HEADS,
        pre_norm=True,
        activation=common_spec.Activation.RELU,
        relative_attention_bias=True,
        rms_norm=True,
    )
    tokenizer = t5_tokenizer()
    tokens = [tokenizer.id_to_token(n) for n in range(tokenizer.get_vocab_size())]
    spec.encoder.embeddings[0].weight, spec.decoder.embeddings.weight = random(len(tokens), WIDTH), random(5, WIDTH)
    spec.decoder.projection.weight = random(5, WIDTH)
    for stack in (spec.encoder, spec.decoder):
        stack.scale_embeddings = False
        stack.layer_norm.gamma = np.ones(WIDTH, np.float32)
        bias = random(32, HEADS)
        for layer in stack.layer:
            attention(layer.self_attention, (3 * WIDTH, WIDTH))
            layer.self_attention.relative_attention_bias = bias
            layer.self_attention.relative_attention_max_distance = np.dtype("int32").type(128)
            if stack is spec.decoder:
                attention(layer.attention, (WIDTH, 2 * WIDTH, WIDTH))
            layer.ffn.linear_0.weight, layer.ffn.linear_1.weight = random(64, WIDTH), random(WIDTH, 64)
            layer.ffn.layer_norm.gamma = np.ones(WIDTH, np.float32)
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(["<pad>", "</s>", "<unk>", "▁true", "▁false"])
    spec.config.bos_token = spec.config.decoder_start_token = "<pad>"
    spec.config.eos_token, spec.config.unk_token = "</s>", "<unk>"
    spec.validate()
    spec.optimize()
    folder.mkdir(parents=True)
    spec.save(str(folder))
    tokenizer.save(str(folder / TOKENIZER))
    settle(folder, Settings(shape="label", template=LABEL_TEMPLATE, length=length, labels=("▁true", "▁false")))
    return folder
