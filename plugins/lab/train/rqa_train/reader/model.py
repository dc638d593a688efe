"""The network: an encoder, start and end scores for each token, and two scores for question and passage."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel

from robust_qa import InputError, RqaError
from rqa_embedded.engine import Marking, Settings, save_settings

from ..conversion import TOLERANCE, bert, write
from .encoding import Example

HEADS = "heads.npz"  # next to an encoder that is already trained
TEMPERATURE = 2.0  # of a teacher's scores, so that its second choices count too
LONGEST_SEARCHED = 12  # maximum tokens of an answer if only its sentence is known


_SPECIAL = {"[CLS]": "<s>", "[SEP]": "</s>", "[PAD]": "<pad>", "[UNK]": "<unk>", "[MASK]": "<mask>"}


class Scores(NamedTuple):
    """Scores of the tokens, (batch, tokens), and of question and passage, (batch,); see `Marks`."""

    start: Tensor
    end: Tensor
    answered: Tensor
    relevant: Tensor


class SpanReader(nn.Module):
    """Computes scores from token ids and types, and the encoder's sentence vectors of single texts.

    Ids are those of `tokenizer_file`. They are translated for an encoder with another vocabulary order.
    """

    translation: Tensor | None

    def __init__(self, encoder: str | Path, tokenizer_file: Path | None = None) -> None:
        super().__init__()
        config = AutoConfig.from_pretrained(encoder)
        if not hasattr(config, "hidden_dropout_prob"):
            raise InputError(
                f"The model in {encoder} has the unsupported type {config.model_type}.",
                hint="Use BERT, MiniLM or MPNet.",
            )
        # One pass over varied data does not overfit, and dropout takes a third of the time on a CPU.
        self.encoder = AutoModel.from_pretrained(
            encoder, dtype=torch.float32, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
        )
        found = None if tokenizer_file is None else translation(Path(encoder, "tokenizer.json"), tokenizer_file)
        self.register_buffer("translation", None if found is None else torch.tensor(found), persistent=False)
        width = self.encoder.config.hidden_size
        self.span = nn.Linear(width, 2)
        self.passage = nn.Linear(width, 2)
        for head in (self.span, self.passage):
            nn.init.normal_(head.weight, std=0.02)
            nn.init.zeros_(head.bias)
        if (heads := Path(encoder, HEADS)).exists():
            self._load_heads(heads)

    def _load_heads(self, path: Path) -> None:
        """Load the heads of a converted model. Their rows are those of `Scores`."""
        with np.load(path) as heads, torch.no_grad():
            for head, rows in ((self.span, slice(0, 2)), (self.passage, slice(2, 4))):
                head.weight.copy_(torch.from_numpy(heads["weight"][rows]))
                head.bias.copy_(torch.from_numpy(heads["bias"][rows]))

    def forward(self, ids: Tensor, types: Tensor, mask: Tensor) -> Scores:
        if getattr(self.encoder.config, "type_vocab_size", 0) > 1:
            hidden = self._hidden(ids, mask, token_type_ids=types)
        else:
            hidden = self._hidden(ids, mask)
        with torch.autocast(hidden.device.type, enabled=False):
            start, end = self.span(hidden).unbind(-1)
            return Scores(start, end, *self.passage(hidden[:, 0]).unbind(-1))

    def embed(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return unit vectors of single texts, (batch, width)."""
        hidden = self._hidden(ids, mask)
        means = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return nn.functional.normalize(means, dim=-1)

    def _hidden(self, ids: Tensor, mask: Tensor, **more: Tensor) -> Tensor:
        translated = ids if self.translation is None else self.translation[ids]
        hidden: Tensor = self.encoder(input_ids=translated, attention_mask=mask.long(), **more).last_hidden_state
        return hidden.float()

    def save(self, folder: Path, tokenizer_file: Path) -> None:
        """Save encoder, heads and tokenizer, as this class loads them."""
        self.encoder.save_pretrained(folder)
        save_heads(self, folder / HEADS)
        shutil.copy(tokenizer_file, folder / "tokenizer.json")


def save_heads(model: SpanReader, path: Path) -> None:
    """Write the weights and biases of the heads. Their rows are those of `Scores`."""
    both = (model.span, model.passage)
    weight, bias = (
        np.concatenate([getattr(head, name).detach().cpu().numpy() for head in both]).astype(np.float32)
        for name in ("weight", "bias")
    )
    np.savez(path, weight=weight, bias=bias)


def span_loss(scores: Scores, allowed: Tensor, starts: Tensor, ends: Tensor, searched: Tensor) -> Tensor:
    """Return the negative log-likelihood of the right spans, (batch,).

    `allowed` marks the passage's tokens and [CLS]; `starts` and `ends` mark the right ones. Probabilities of several
    right spans add up (Clark and Gardner, 2018, section 2.2). In rows marked by `searched` only the best span counts
    (hard EM: Min et al., 2019, section 3).
    """
    found_starts, found_ends = _best_span(scores, starts, ends)
    starts = torch.where(searched[:, None], found_starts, starts)
    ends = torch.where(searched[:, None], found_ends, ends)

    def loss(logits: Tensor, right: Tensor) -> Tensor:
        every = _mask(logits, allowed).logsumexp(-1)
        return every - _mask(logits, right).logsumexp(-1)

    return (loss(scores.start, starts) + loss(scores.end, ends)) / 2


def distance(scores: Scores, teacher: Scores, allowed: Tensor) -> Tensor:
    """Return the relative entropy of `scores` to a teacher's spans at a higher temperature, (batch,).

    Hinton, Vinyals and Dean, "Distilling the knowledge in a neural network", 2015, section 2. The squared temperature
    preserves the scale of the gradients.
    """

    def entropy(ours: Tensor, theirs: Tensor) -> Tensor:
        ours, theirs = (_mask(logits / TEMPERATURE, allowed).log_softmax(-1) for logits in (ours, theirs))
        return (theirs.exp() * (theirs - ours)).sum(-1) * TEMPERATURE**2

    return (entropy(scores.start, teacher.start) + entropy(scores.end, teacher.end)) / 2


def _mask(logits: Tensor, marked: Tensor) -> Tensor:
    return logits.masked_fill(~marked, torch.finfo(logits.dtype).min)


def _best_span(scores: Scores, starts: Tensor, ends: Tensor) -> tuple[Tensor, Tensor]:
    """Return masks of the best allowed start and end of each row."""
    size = starts.shape[1]
    sums = scores.start.detach()[:, :, None] + scores.end.detach()[:, None, :]
    band = torch.ones(size, size, dtype=torch.bool, device=starts.device).triu()
    band &= ~band.triu(LONGEST_SEARCHED)
    fits = starts[:, :, None] & ends[:, None, :] & band
    best = sums.masked_fill(~fits, torch.finfo(sums.dtype).min).flatten(1).argmax(1)
    marks = nn.functional.one_hot
    return marks(best // size, size).bool(), marks(best % size, size).bool()


def translation(theirs: Path, ours: Path) -> list[int] | None:
    """Return for each of our token ids the id in `theirs`, or None if the vocabularies are equal.

    Raises InputError if a token is missing in `theirs`.
    """
    ids = Tokenizer.from_file(str(theirs)).get_vocab()
    words = Tokenizer.from_file(str(ours)).get_vocab()
    if ids == words:
        return None
    table = [0] * (1 + max(words.values()))
    for word, own in words.items():
        found = ids.get(word, ids.get(_SPECIAL.get(word, word)))
        if found is None:
            raise InputError(
                f"The vocabulary of the encoder in {theirs.parent} lacks the reader's token {word!r}.",
                hint="Use an encoder with BERT's lower-case vocabulary: MPNet, MiniLM or bert-*-uncased.",
            )
        table[own] = found
    return table


def convert(
    model: SpanReader, tokenizer_file: Path, out: Path, settings: Settings, *, quantization: str = "int8"
) -> None:
    """Write the model folder `out` for `Engine`."""
    tokenizer: dict[str, Any] = json.loads(tokenizer_file.read_text(encoding="utf-8"))
    vocabulary = Tokenizer.from_file(str(tokenizer_file)).get_vocab()
    write(bert(model.encoder, sorted(vocabulary, key=vocabulary.__getitem__)), out, quantization)
    save_heads(model, out / HEADS)
    tokenizer["padding"] = tokenizer["truncation"] = None  # the published tokenizer truncates at 128
    (out / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False), encoding="utf-8")
    save_settings(out, settings)


def difference(one: Marking, other: Marking, examples: Sequence[Example]) -> float:
    """Return the largest difference of any score of `examples` between two engines."""
    windows = [(list(example.ids), list(example.types)) for example in examples]
    found = [
        np.abs(np.asarray(a, dtype=np.float32) - np.asarray(b, dtype=np.float32)).max()
        for ours, theirs in zip(one.mark(windows), other.mark(windows), strict=True)
        for a, b in zip(ours, theirs, strict=True)
    ]
    return float(np.max(found))  # NaN if any score is NaN


def check(trained: Marking, converted: Marking, examples: Sequence[Example]) -> float:
    """Return `difference`. Raises RqaError above TOLERANCE, because conversion can fail silently."""
    found = difference(trained, converted, examples)
    if not found <= TOLERANCE:
        raise RqaError(
            f"The scores of the converted model differ from the trained one's by {found:.2g}.",
            hint="Install transformers 4.57, or train into another folder with a lower --rate.",
        )
    return found
