"""A tiny real model, made here: two layers, sixteen wide, random; its folder is as the converter leaves one."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from rqa_embedded.engine import CHECKSUMS, Settings, file_digest

WIDTH, HEADS, LAYERS = 16, 2, 2
WORDS = (
    "[PAD] [UNK] [CLS] [SEP] : . , who where when was born in the of ada lovelace london paris 1815 river [MASK]"
).split()


def write_model(folder: Path, *, length: int = 48, stride: int = 8) -> Path:
    """A model folder with random weights, always the same."""
    from ctranslate2.specs import common_spec, transformer_spec

    rng = np.random.default_rng(0)

    def random(*shape: int) -> np.ndarray:
        return rng.normal(0, 0.3, shape).astype(np.float32)

    encoder = transformer_spec.TransformerEncoderSpec(
        LAYERS, HEADS, pre_norm=False, activation=common_spec.Activation.GELU, layernorm_embedding=True,
        num_source_embeddings=2, embeddings_merge=common_spec.EmbeddingsMerge.ADD,
    )  # fmt: skip
    spec = transformer_spec.TransformerEncoderModelSpec(
        encoder, pooling_layer=True, pooling_activation=common_spec.Activation.Tanh
    )

    def linear(part: object, rows: int, columns: int) -> None:
        part.weight, part.bias = random(rows, columns), random(rows)

    def norm(part: object) -> None:
        part.gamma, part.beta = np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32)

    encoder.scale_embeddings = False
    encoder.embeddings[0].weight, encoder.embeddings[1].weight = random(len(WORDS), WIDTH), random(2, WIDTH)
    encoder.position_encodings.encodings = random(512, WIDTH)
    norm(encoder.layernorm_embedding)
    linear(spec.pooler_dense, WIDTH, WIDTH)
    for layer in encoder.layer:
        linear(layer.self_attention.linear[0], 3 * WIDTH, WIDTH)
        linear(layer.self_attention.linear[1], WIDTH, WIDTH)
        norm(layer.self_attention.layer_norm)
        linear(layer.ffn.linear_0, 4 * WIDTH, WIDTH)
        linear(layer.ffn.linear_1, WIDTH, 4 * WIDTH)
        norm(layer.ffn.layer_norm)
    spec.register_vocabulary(WORDS)
    spec.config.unk_token, spec.config.layer_norm_epsilon = "[UNK]", 1e-12
    spec.validate()
    spec.optimize()
    folder.mkdir(parents=True, exist_ok=True)
    spec.save(str(folder))

    tokenizer = Tokenizer(models.WordPiece({word: n for n, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens([word for word in WORDS if word.startswith("[")])
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.save(str(folder / "tokenizer.json"))
    np.savez(folder / "heads.npz", weight=random(4, WIDTH), bias=random(4))
    alone = (0.0, 1.0, 0.0, 0.0, 0.0)  # the margin's logistic function
    settings = Settings(
        length, stride, relevance=alone, answer=alone[:2], sentence=alone[:3], threshold=0.0, identity="tiny"
    )
    (folder / "reader.json").write_bytes(msgspec.json.encode(settings))
    files = ("model.bin", "heads.npz", "tokenizer.json", "reader.json")
    (folder / CHECKSUMS).write_text(json.dumps({name: file_digest(folder / name) for name in files}))
    return folder
