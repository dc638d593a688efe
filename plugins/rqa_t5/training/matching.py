"""First weights of a small T5 with which it compares words, so that training need not find out how.

From random weights and some ten thousand pairs a T5 learns hardly more than which texts are seldom right. So the
weights begin as a program, as Lindner et al. (2023, Tracr) compile one, and all of them are trained on from there:

1. the first layer tells each token on which side it stands, the question's or the text's;
2. the second finds whether the other side has a word like it;
3. the decoder says which share of the question's words was found, the rarer ones counting more.

The residual stream carries a vector of each word in its first dimensions, then one dimension each of `_Dimensions`. A
head of the second layer compares one slice of the vectors; two of its dimensions are for side and threshold.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor

ASKED, TOLD = "※", "⁂"  # before the question, before the text: a later one of either kind changes no side
SPACE = "▁"  # begins a word; alone it stands before the marks
TEMPLATE = f"{ASKED} {{question}} {TOLD} {{passage}}"

_WORD = 16.0  # length of a word's vector in the stream
_ONE = 4.0  # of the dimension that is the same everywhere
_REST = 0.1  # of what is random: little enough for the program to be heard
_FARTHEST = 30.0  # a logit that no other outweighs
_SHARP = 20.0  # by how much a logit grows with the cosine of two words
_LIKE = 0.65  # the cosine from which words count as alike
_SIDE = 12.0  # logits between words of different sides, and its negative between those of one
_CLEAR = 10.0  # a logit that outweighs what is no mark, or of the other side
_SURE = 4.0  # of a label, how much the share of words found says for it or against it
_EVEN = 0.6  # the share of words found at which relevant and not are as likely
_RARE = 0.3  # by how much the logarithm of a word's rarity raises its weight
_NEVER = -8.0  # the same of what is no word

_START, _END, _UNKNOWN, _YES, _NO = range(5)  # tokens


class _Dimensions(NamedTuple):
    """Places in the residual stream after the words' vectors."""

    one: int
    rarity: int
    asked: int  # the token is the mark before the question
    told: int
    side: int  # from layer 1 on: less than 0 in the question, more in the text
    found: int  # from layer 2 on: how much the other side has the word

    @classmethod
    def after(cls, width: int) -> _Dimensions:
        return cls(*range(width, width + 6))


def heads(width: int) -> tuple[int, int]:
    """How many heads of what width a T5 of `width` has: the words' vectors must leave six dimensions."""
    wide = min(64, width // 4)
    return width // wide, wide


def begin(model: Any, tokenizer: Tokenizer, rarity: NDArray[np.floating], vectors: NDArray[np.floating] | None) -> None:
    """Set the first weights of `model`, a T5 with `heads` and at least two encoder layers.

    `rarity` is the logarithm of a token's inverse document frequency, (tokens,). `vectors`, (tokens, any width), say
    which words are alike; without them a word is like itself only.
    """
    count, wide = model.config.num_heads, model.config.d_kv
    words = (wide - 2) * (count - 1)
    at = _Dimensions.after(words)
    vocabulary = tokenizer.get_vocab()
    ids = {token: vocabulary[token] for token in (ASKED, TOLD, SPACE)}
    with torch.no_grad():
        _quiet(model)
        _embed(model.shared.weight, at, _directions(vectors, len(rarity), words), rarity, ids)
        first, second = (block.layer[0].SelfAttention for block in model.encoder.block[:2])
        bias = first.relative_attention_bias.weight
        bias.zero_()
        bias[len(bias) // 2 :, 0] = -_FARTHEST  # the first head of every layer looks to the left only
        scale = math.sqrt((_WORD**2 + _ONE**2) / model.config.d_model)  # what the norms divide a word by
        _tell_sides(first, at, wide, scale)
        scale = math.sqrt((_WORD**2 + 2 * _ONE**2) / model.config.d_model)
        for head in range(1, count):
            _find(second, at, head, wide, scale)
        _weigh(model.decoder.block[0].layer[1].EncDecAttention, at, wide, scale)


def _quiet(model: Any) -> None:
    for name, weight in model.named_parameters():
        if name.endswith((".o.weight", ".wo.weight")):
            weight.mul_(_REST)


def _directions(vectors: NDArray[np.floating] | None, count: int, width: int) -> Tensor:
    """Unit vectors (count, width): those given, about their mean, in their main directions, turned at random.

    The turn leaves to each head's slice as much of them as to another's.
    """
    found = torch.randn(count, width)
    if vectors is not None:
        given = torch.tensor(vectors - vectors.mean(0), dtype=torch.float32)
        given /= given.norm(dim=1, keepdim=True).clamp(min=1e-6)
        main = torch.linalg.svd(given, full_matrices=False)[2][:width]
        turn = torch.linalg.qr(torch.randn(len(main), width).T)[0].T  # orthonormal rows
        found = given @ main.T @ turn
    return found / found.norm(dim=1, keepdim=True).clamp(min=1e-6)


def _embed(weight: Tensor, at: _Dimensions, words: Tensor, rarity: NDArray[np.floating], ids: dict[str, int]) -> None:
    weight.mul_(_REST)
    weight[:, : at.one] = _WORD * words
    weight[:, at.one : at.found + 1] = 0
    weight[:, at.one] = _ONE
    weight[:, at.rarity] = _RARE * torch.tensor(rarity, dtype=torch.float32)
    for mark, place in ((ASKED, at.asked), (TOLD, at.told)):
        row = weight[ids[mark]]
        row.zero_()
        row[at.one], row[place], row[at.rarity] = _ONE, _WORD, _NEVER
    weight[[_END, _UNKNOWN, ids[SPACE]], at.rarity] = _NEVER
    for token in (_START, _YES, _NO):
        weight[token] = 0
    weight[_START, at.one] = _WORD
    for token, sign in ((_YES, 1.0), (_NO, -1.0)):
        weight[token, at.found], weight[token, at.one] = sign * _SURE, -sign * _SURE * _EVEN


def _clear(attention: Any, head: int, wide: int) -> slice:
    """The rows of a head, whose weights are none now."""
    rows = slice(head * wide, (head + 1) * wide)
    for part in (attention.q, attention.k, attention.v):
        part.weight[rows] = 0
    attention.o.weight[:, rows] = 0
    return rows


def _tell_sides(attention: Any, at: _Dimensions, wide: int, scale: float) -> None:
    """Head 0: look for the mark before the text to the left, or else for the one before the question."""
    _clear(attention, 0, wide)
    attention.q.weight[0, at.one] = scale / _ONE
    attention.k.weight[0, at.told], attention.k.weight[0, at.asked] = 2 * _CLEAR * scale / _WORD, _CLEAR * scale / _WORD
    attention.v.weight[0, at.told], attention.v.weight[0, at.asked] = scale / _WORD, -scale / _WORD
    attention.o.weight[at.side, 0] = _ONE


def _find(attention: Any, at: _Dimensions, head: int, wide: int, scale: float) -> None:
    """A head over its slice of the words: look at the other side, at words like this one or else at the mark."""
    rows = _clear(attention, head, wide)
    place, size = rows.start, wide - 2
    share = size / at.one
    like = math.sqrt(_SHARP / (_WORD**2 * share)) * scale
    same = like * torch.eye(size)
    columns = slice((head - 1) * size, head * size)
    attention.q.weight[place : place + size, columns] = same
    attention.k.weight[place : place + size, columns] = same
    side, mark = place + size, place + size + 1
    attention.q.weight[side, at.side] = -math.sqrt(_SIDE) * scale / _ONE
    attention.k.weight[side, at.side] = math.sqrt(_SIDE) * scale / _ONE
    attention.q.weight[mark, at.one] = scale / _ONE
    attention.v.weight[place, at.one] = scale / _ONE
    for of in (at.asked, at.told):
        attention.k.weight[mark, of] = _SHARP * _LIKE * scale / _WORD
        attention.v.weight[place, of] = -scale / _WORD
    attention.o.weight[at.found, place] = _ONE * share


def _weigh(attention: Any, at: _Dimensions, wide: int, scale: float) -> None:
    """Head 0 of the decoder: the mean of what was found of the question's words, by rarity."""
    _clear(attention, 0, wide)
    attention.q.weight[0, at.one] = 1 / math.sqrt(attention.q.in_features)  # the start has this dimension only
    attention.k.weight[0, at.rarity], attention.k.weight[0, at.side] = scale, -_CLEAR * scale / _ONE
    attention.v.weight[0, at.found] = scale / _ONE
    attention.o.weight[at.found, 0] = _WORD
