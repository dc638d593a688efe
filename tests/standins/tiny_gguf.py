"""A llama with random weights, half a megabyte, that the real llama.cpp loads in milliseconds.

What it writes is noise; everything around the noise is real: tokeniser, template, window, sampling, grammar.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gguf
import numpy as np

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SPECIALS = ("<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>", "[INST]")
EMBEDDING, HEADS, LAYERS, FEED_FORWARD = 64, 4, 2, 128
END = 4  # <|im_end|>


def vocabulary(specials: Sequence[str] = ()) -> list[tuple[str, int]]:
    """(text, type) of every token: the specials, 256 bytes, then printable ASCII and the word mark; then `specials`."""
    kinds = gguf.TokenType
    tokens = [("<unk>", kinds.UNKNOWN), *((text, kinds.CONTROL) for text in SPECIALS[1:-1])]
    tokens += [(SPECIALS[-1], kinds.USER_DEFINED)]
    tokens += [(f"<0x{byte:02X}>", kinds.BYTE) for byte in range(256)]
    tokens += [(chr(code), kinds.NORMAL) for code in range(33, 127)]
    return [*tokens, ("\u2581", kinds.NORMAL), *((text, kinds.CONTROL) for text in specials)]


def says_pieces(text: str) -> list[str]:
    """`text` in pieces: llama-cpp-python reads no token that is longer than 32 bytes."""
    return [text[at : at + 20] for at in range(0, len(text), 20)]


def says_embedding(size: int, pieces: int) -> np.ndarray:
    """Embeddings of a model that says its last tokens, the `pieces`, one after another."""
    values = np.zeros((size, EMBEDDING), np.float32)
    values[: size - pieces, 0] = 1
    values[range(size - pieces, size), range(1, pieces + 1)] = 1
    return values


def says_output(size: int, pieces: int, end: int) -> np.ndarray:
    """The output weights for `says_embedding`: the first piece follows all other tokens, `end` the last piece."""
    values = np.zeros((size, EMBEDDING), np.float32)
    values[[*range(size - pieces, size), end], range(pieces + 1)] = 10
    return values


def write_tiny_gguf(
    path: Path,
    *,
    template: str | None = CHATML,
    window: int = 2048,
    seed: int = 1,
    pooling: gguf.PoolingType | None = None,
    specials: Sequence[str] = (),
    says: str = "",
    architecture: str = "llama",
) -> Path:
    """Write the model to `path`; the same arguments give the same bytes.

    `specials` are further control tokens, which it writes often. With `says` the model replies with that text
    to everything. The `architecture` may be "qwen35", whose first layer is recurrent; others get a llama's tensors.
    """
    random = np.random.default_rng(seed)
    tokens = vocabulary(specials)
    pieces = says_pieces(says)
    tokens += [(piece.replace(" ", "\u2581"), gguf.TokenType.NORMAL) for piece in pieces]
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_name("tiny")
    writer.add_context_length(window)
    writer.add_embedding_length(EMBEDDING)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(EMBEDDING // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    hybrid = architecture == "qwen35"
    if hybrid:  # every second layer attends, the others are gated delta nets
        writer.add_full_attention_interval(2)
        writer.add_rope_dimension_sections([3, 3, 2, 0])
        writer.add_ssm_conv_kernel(4)
        writer.add_ssm_inner_size(EMBEDDING)
        writer.add_ssm_state_size(EMBEDDING // HEADS)
        writer.add_ssm_time_step_rank(HEADS)
        writer.add_ssm_group_count(HEADS)
    if pooling is not None:  # as embedding models have
        writer.add_pooling_type(pooling)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([text for text, _ in tokens])
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types([kind for _, kind in tokens])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(END)
    if template is not None:
        writer.add_chat_template(template)

    def tensor(name: str, *shape: int) -> None:
        values = random.normal(0.0, 0.3, shape).astype(np.float32)
        if name == "output.weight" and specials:
            values[-len(specials) :] *= 4
        if name.endswith("ssm_a"):
            values = -np.abs(values)  # a state that decays
        if says and name == "output_norm.weight":
            values[:] = 1
        if says and name.endswith(("attn_output.weight", "ffn_down.weight")):
            values[:] = 0  # the last token alone decides
        if says and name == "token_embd.weight":
            values[:] = says_embedding(len(tokens), len(pieces))
        if says and name == "output.weight":
            values[:] = says_output(len(tokens), len(pieces), END)
        writer.add_tensor(name, values)

    tensor("token_embd.weight", len(tokens), EMBEDDING)
    tensor("output.weight", len(tokens), EMBEDDING)
    tensor("output_norm.weight", EMBEDDING)
    for layer in range(LAYERS):
        for norm in ("attn_norm", "post_attention_norm" if hybrid else "ffn_norm"):
            tensor(f"blk.{layer}.{norm}.weight", EMBEDDING)
        for name, *shape in _attention(layer, hybrid):
            tensor(f"blk.{layer}.{name}", *shape)
        for wide in ("ffn_gate", "ffn_up"):
            tensor(f"blk.{layer}.{wide}.weight", FEED_FORWARD, EMBEDDING)
        tensor(f"blk.{layer}.ffn_down.weight", EMBEDDING, FEED_FORWARD)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _attention(layer: int, hybrid: bool) -> list[tuple[Any, ...]]:
    """The names and shapes of the tensors that mix tokens in `layer`."""
    head = EMBEDDING // HEADS
    square = [(f"attn_{name}.weight", EMBEDDING, EMBEDDING) for name in ("q", "k", "v", "output")]
    if hybrid and layer % 2 == 0:
        return [
            ("attn_qkv.weight", 3 * EMBEDDING, EMBEDDING),
            ("attn_gate.weight", EMBEDDING, EMBEDDING),
            ("ssm_conv1d.weight", 3 * EMBEDDING, 4),
            ("ssm_dt.bias", HEADS),
            ("ssm_a", HEADS),
            ("ssm_beta.weight", HEADS, EMBEDDING),
            ("ssm_alpha.weight", HEADS, EMBEDDING),
            ("ssm_norm.weight", head),
            ("ssm_out.weight", EMBEDDING, EMBEDDING),
        ]
    if hybrid:  # a gate beside each query
        norms = [("attn_q_norm.weight", head), ("attn_k_norm.weight", head)]
        return [("attn_q.weight", 2 * EMBEDDING, EMBEDDING), *square[1:], *norms]
    return [*square]
