"""The model of tiny_gguf that always says one text, as a checkpoint of transformers. Written without torch."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from standins.tiny_gguf import CHATML, EMBEDDING, FEED_FORWARD, HEADS, LAYERS, says_embedding, says_output, says_pieces
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers


def write_tiny_llama(folder: Path, says: str, *, window: int = 8192) -> Path:
    """Write a checkpoint that replies with `says` to everything."""
    folder.mkdir(parents=True, exist_ok=True)
    pieces = says_pieces(says)
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = ["<|im_start|>", "<|im_end|>", *letters, *(piece.replace(" ", "\u0120") for piece in pieces)]
    assert len(set(words)) == len(words)
    tokenizer = Tokenizer(models.BPE({word: number for number, word in enumerate(words)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(word, special=True) for word in words[:2]])
    tokenizer.save(str(folder / "tokenizer.json"))
    write = {
        "config.json": {
            "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": len(words),
            "hidden_size": EMBEDDING, "intermediate_size": FEED_FORWARD, "num_hidden_layers": LAYERS,
            "num_attention_heads": HEADS, "max_position_embeddings": window, "eos_token_id": 1, "bos_token_id": 0,
            "tie_word_embeddings": False, "dtype": "float32",
        },
        "generation_config.json": {"eos_token_id": 1, "bos_token_id": 0, "pad_token_id": 1},
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast", "chat_template": CHATML, "eos_token": "<|im_end|>",
            "pad_token": "<|im_end|>", "model_max_length": window,
        },
    }  # fmt: skip
    for name, content in write.items():
        (folder / name).write_text(json.dumps(content), "utf-8")
    weights: dict[str, np.ndarray] = {
        "model.embed_tokens.weight": says_embedding(len(words), len(pieces)),
        "model.norm.weight": np.ones(EMBEDDING, np.float32),
        "lm_head.weight": says_output(len(words), len(pieces), 1),
    }
    for layer in range(LAYERS):  # zeros: the last token alone decides
        for name in ("input_layernorm", "post_attention_layernorm"):
            weights[f"model.layers.{layer}.{name}.weight"] = np.ones(EMBEDDING, np.float32)
        for name in "qkvo":
            weights[f"model.layers.{layer}.self_attn.{name}_proj.weight"] = np.zeros((EMBEDDING, EMBEDDING), np.float32)
        for name, shape in (
            ("gate", (FEED_FORWARD, EMBEDDING)),
            ("up", (FEED_FORWARD, EMBEDDING)),
            ("down", (EMBEDDING, FEED_FORWARD)),
        ):
            weights[f"model.layers.{layer}.mlp.{name}_proj.weight"] = np.zeros(shape, np.float32)
    _write_safetensors(folder / "model.safetensors", weights)
    return folder


def _write_safetensors(path: Path, weights: dict[str, np.ndarray]) -> None:
    header, end = {"__metadata__": {"format": "pt"}}, 0
    for name, values in weights.items():
        start, end = end, end + values.nbytes
        header[name] = {"dtype": "F32", "shape": values.shape, "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(each.tobytes() for each in weights.values()))
