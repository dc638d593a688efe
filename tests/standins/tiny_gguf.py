"""A llama with random weights, half a megabyte, that the real llama.cpp loads in milliseconds.

What it writes is noise; everything around the noise is real: tokeniser, template, window, sampling, grammar.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import gguf
import numpy as np

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SPECIALS = ("<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>", "[INST]")
EMBEDDING, HEADS, LAYERS, FEED_FORWARD = 64, 4, 2, 128


def vocabulary(specials: Sequence[str] = ()) -> list[tuple[str, int]]:
    """(text, type) of every token: the specials, 256 bytes, then printable ASCII and the word mark; then `specials`."""
    kinds = gguf.TokenType
    tokens = [("<unk>", kinds.UNKNOWN), *((text, kinds.CONTROL) for text in SPECIALS[1:-1])]
    tokens += [(SPECIALS[-1], kinds.USER_DEFINED)]
    tokens += [(f"<0x{byte:02X}>", kinds.BYTE) for byte in range(256)]
    tokens += [(chr(code), kinds.NORMAL) for code in range(33, 127)]
    return [*tokens, ("\u2581", kinds.NORMAL), *((text, kinds.CONTROL) for text in specials)]


def write_tiny_gguf(
    path: Path,
    *,
    template: str | None = CHATML,
    window: int = 2048,
    seed: int = 1,
    pooling: gguf.PoolingType | None = None,
    specials: Sequence[str] = (),
) -> Path:
    """Write the model to `path`; the same arguments give the same bytes.

    `specials` are further control tokens, which it writes often.
    """
    random = np.random.default_rng(seed)
    tokens = vocabulary(specials)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_context_length(window)
    writer.add_embedding_length(EMBEDDING)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(EMBEDDING // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    if pooling is not None:  # as embedding models have
        writer.add_pooling_type(pooling)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([text for text, _ in tokens])
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types([kind for _, kind in tokens])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(4)
    if template is not None:
        writer.add_chat_template(template)

    def tensor(name: str, *shape: int) -> None:
        values = random.normal(0.0, 0.3, shape).astype(np.float32)
        if name == "output.weight" and specials:
            values[-len(specials) :] *= 4
        writer.add_tensor(name, values)

    tensor("token_embd.weight", len(tokens), EMBEDDING)
    tensor("output.weight", len(tokens), EMBEDDING)
    tensor("output_norm.weight", EMBEDDING)
    for layer in range(LAYERS):
        for norm in ("attn_norm", "ffn_norm"):
            tensor(f"blk.{layer}.{norm}.weight", EMBEDDING)
        for square in ("attn_q", "attn_k", "attn_v", "attn_output"):
            tensor(f"blk.{layer}.{square}.weight", EMBEDDING, EMBEDDING)
        for wide in ("ffn_gate", "ffn_up"):
            tensor(f"blk.{layer}.{wide}.weight", FEED_FORWARD, EMBEDDING)
        tensor(f"blk.{layer}.ffn_down.weight", EMBEDDING, FEED_FORWARD)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
