"""Initial weights with which a small T5 matches the words of question and text.

A T5 with random weights learns little from ten thousand pairs. So its weights start as a program, as in Tracr (Lindner
et al., 2023), and training continues from there:

1. The first layer marks each token as part of the question or of the text.
2. The second layer checks whether the other side has a similar word.
3. The decoder computes the share of the question's words that were found. Rare words count more.

The first dimensions of the residual stream hold a vector of the word; `_Dimensions` lists the others. Each head of
the second layer compares one slice of the vectors and uses two more dimensions for the side and the threshold.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor

QUESTION_MARK, TEXT_MARK = "※", "⁂"  # before the question and before the text
SPACE = "▁"  # begins a word
TEMPLATE = f"{QUESTION_MARK} {{question}} {TEXT_MARK} {{passage}}"

_WORD = 16.0  # norm of a word's vector in the stream
_ONE = 4.0  # value of the constant dimension
_NOISE = 0.1  # scale of the remaining random weights
_MAX_LOGIT = 30.0
_SHARPNESS = 20.0  # logit of a cosine of 1
_SIMILAR = 0.65  # minimum cosine of similar words
_SIDE = 12.0  # logit between the two sides; negative within one side
_CLEAR = 10.0  # logit of a mark, and of the wrong side (negative)
_LABEL = 4.0  # effect of the share of found words on a label
_EVEN = 0.6  # share of found words at which both labels are equally likely
_RARITY = 0.3  # weight of the logarithm of a word's rarity
_NO_WORD = -8.0  # rarity of marks and special tokens

_START, _END, _UNKNOWN, _YES, _NO = range(5)  # tokens


class _Dimensions(NamedTuple):
    """Dimensions of the residual stream after the words' vectors."""

    one: int
    rarity: int
    question_mark: int
    text_mark: int
    side: int  # from layer 1 on: negative in the question, positive in the text
    found: int  # from layer 2 on: whether the other side has the word

    @classmethod
    def after(cls, width: int) -> _Dimensions:
        return cls(*range(width, width + 6))


def heads(width: int) -> tuple[int, int]:
    """Return the number and width of the heads. They leave six dimensions for `_Dimensions`."""
    wide = min(64, width // 4)
    return width // wide, wide


def initialise(
    model: Any, tokenizer: Tokenizer, rarity: NDArray[np.floating], vectors: NDArray[np.floating] | None
) -> None:
    """Set the initial weights of `model`, a T5 with `heads` and at least two encoder layers.

    `rarity` (tokens,) is the logarithm of the inverse document frequency. `vectors` (tokens, any width) define similar
    words; without them a word is similar only to itself.
    """
    count, wide = model.config.num_heads, model.config.d_kv
    words = (wide - 2) * (count - 1)
    at = _Dimensions.after(words)
    vocabulary = tokenizer.get_vocab()
    ids = {token: vocabulary[token] for token in (QUESTION_MARK, TEXT_MARK, SPACE)}
    with torch.no_grad():
        _scale_outputs(model)
        _embed(model.shared.weight, at, _directions(vectors, len(rarity), words), rarity, ids)
        first, second = (block.layer[0].SelfAttention for block in model.encoder.block[:2])
        bias = first.relative_attention_bias.weight
        bias.zero_()
        bias[len(bias) // 2 :, 0] = -_MAX_LOGIT  # the first head of every layer looks only left
        scale = math.sqrt((_WORD**2 + _ONE**2) / model.config.d_model)  # norm of a word in this layer
        _mark_sides(first, at, wide, scale)
        scale = math.sqrt((_WORD**2 + 2 * _ONE**2) / model.config.d_model)
        for head in range(1, count):
            _match(second, at, head, wide, scale)
        _average(model.decoder.block[0].layer[1].EncDecAttention, at, wide, scale)


def _scale_outputs(model: Any) -> None:
    for name, weight in model.named_parameters():
        if name.endswith((".o.weight", ".wo.weight")):
            weight.mul_(_NOISE)


def _directions(vectors: NDArray[np.floating] | None, count: int, width: int) -> Tensor:
    """Return unit vectors (count, width): the centred vectors in their principal directions, randomly rotated.

    The rotation spreads the variance evenly over the heads.
    """
    found = torch.randn(count, width)
    if vectors is not None:
        given = torch.tensor(vectors - vectors.mean(0), dtype=torch.float32)
        given /= given.norm(dim=1, keepdim=True).clamp(min=1e-6)
        main = torch.linalg.svd(given, full_matrices=False)[2][:width]
        rotation = torch.linalg.qr(torch.randn(len(main), width).T)[0].T  # orthonormal rows
        found = given @ main.T @ rotation
    return found / found.norm(dim=1, keepdim=True).clamp(min=1e-6)


def _embed(weight: Tensor, at: _Dimensions, words: Tensor, rarity: NDArray[np.floating], ids: dict[str, int]) -> None:
    weight.mul_(_NOISE)
    weight[:, : at.one] = _WORD * words
    weight[:, at.one : at.found + 1] = 0
    weight[:, at.one] = _ONE
    weight[:, at.rarity] = _RARITY * torch.tensor(rarity, dtype=torch.float32)
    for mark, dimension in ((QUESTION_MARK, at.question_mark), (TEXT_MARK, at.text_mark)):
        row = weight[ids[mark]]
        row.zero_()
        row[at.one], row[dimension], row[at.rarity] = _ONE, _WORD, _NO_WORD
    weight[[_END, _UNKNOWN, ids[SPACE]], at.rarity] = _NO_WORD
    for token in (_START, _YES, _NO):
        weight[token] = 0
    weight[_START, at.one] = _WORD
    for token, sign in ((_YES, 1.0), (_NO, -1.0)):
        weight[token, at.found], weight[token, at.one] = sign * _LABEL, -sign * _LABEL * _EVEN


def _clear(attention: Any, head: int, wide: int) -> slice:
    """Set the weights of a head to 0 and return its rows."""
    rows = slice(head * wide, (head + 1) * wide)
    for part in (attention.q, attention.k, attention.v):
        part.weight[rows] = 0
    attention.o.weight[:, rows] = 0
    return rows


def _mark_sides(attention: Any, at: _Dimensions, wide: int, scale: float) -> None:
    """Set head 0 to attend to the text mark on the left, or else to the question mark."""
    _clear(attention, 0, wide)
    attention.q.weight[0, at.one] = scale / _ONE
    attention.k.weight[0, at.text_mark], attention.k.weight[0, at.question_mark] = (
        2 * _CLEAR * scale / _WORD,
        _CLEAR * scale / _WORD,
    )
    attention.v.weight[0, at.text_mark], attention.v.weight[0, at.question_mark] = scale / _WORD, -scale / _WORD
    attention.o.weight[at.side, 0] = _ONE


def _match(attention: Any, at: _Dimensions, head: int, wide: int, scale: float) -> None:
    """Set a head to attend to similar words on the other side, or else to the mark."""
    rows = _clear(attention, head, wide)
    place, size = rows.start, wide - 2
    share = size / at.one
    like = math.sqrt(_SHARPNESS / (_WORD**2 * share)) * scale
    same = like * torch.eye(size)
    columns = slice((head - 1) * size, head * size)
    attention.q.weight[place : place + size, columns] = same
    attention.k.weight[place : place + size, columns] = same
    side, mark = place + size, place + size + 1
    attention.q.weight[side, at.side] = -math.sqrt(_SIDE) * scale / _ONE
    attention.k.weight[side, at.side] = math.sqrt(_SIDE) * scale / _ONE
    attention.q.weight[mark, at.one] = scale / _ONE
    attention.v.weight[place, at.one] = scale / _ONE
    for mark_dimension in (at.question_mark, at.text_mark):
        attention.k.weight[mark, mark_dimension] = _SHARPNESS * _SIMILAR * scale / _WORD
        attention.v.weight[place, mark_dimension] = -scale / _WORD
    attention.o.weight[at.found, place] = _ONE * share


def _average(attention: Any, at: _Dimensions, wide: int, scale: float) -> None:
    """Set head 0 of the decoder to the mean of `found` over the question's words, weighted by rarity."""
    _clear(attention, 0, wide)
    attention.q.weight[0, at.one] = 1 / math.sqrt(attention.q.in_features)  # the start token has only this dimension
    attention.k.weight[0, at.rarity], attention.k.weight[0, at.side] = scale, -_CLEAR * scale / _ONE
    attention.v.weight[0, at.found] = scale / _ONE
    attention.o.weight[at.found, 0] = _WORD
