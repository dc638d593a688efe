"""The network: an encoder; scores of each token to start and to end the answer; two scores of the passage."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel

from robust_qa import InputError

from .vocabulary import translation

HEADS = "heads.npz"  # beside an encoder whose scores were learnt already
TEMPERATURE = 2.0  # of a teacher's scores: what else it held likely is to be learnt, too
LONGEST_SEARCHED = 12  # tokens of an answer that is only known to stand in a sentence


class Scores(NamedTuple):
    """Of each token to start and to end the answer, (batch, tokens); of the passage, (batch,)."""

    start: Tensor
    end: Tensor
    answered: Tensor
    relevant: Tensor


class SpanReader(nn.Module):
    """Scores from token ids and types; and, of single texts, the sentence vectors that the encoder came with.

    The ids are those of `tokenizer_file`; an encoder that has other ids for the same words is told its own.
    """

    translation: Tensor | None

    def __init__(self, encoder: str | Path, tokenizer_file: Path | None = None) -> None:
        super().__init__()
        config = AutoConfig.from_pretrained(encoder)
        if not hasattr(config, "hidden_dropout_prob"):
            raise InputError(
                f"The model in {encoder} is of the family {config.model_type}, which cannot be trained to read here.",
                hint="Take an encoder built as BERT is: BERT, MiniLM or MPNet.",
            )
        # One pass over varied data does not overfit, and without dropout a step on a CPU takes two thirds of the time.
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
        if (learnt := Path(encoder, HEADS)).exists():
            self._take_heads(learnt)

    def _take_heads(self, path: Path) -> None:
        """Go on with the scores of a converted model; their rows are those of `Scores`."""
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
            answered, relevant = self.passage(hidden[:, 0]).unbind(-1)
            return Scores(start, end, answered, relevant)

    def embed(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Unit vectors of single texts, (batch, width)."""
        hidden = self._hidden(ids, mask)
        means = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return nn.functional.normalize(means, dim=-1)

    def _hidden(self, ids: Tensor, mask: Tensor, **more: Tensor) -> Tensor:
        own = ids if self.translation is None else self.translation[ids]
        hidden: Tensor = self.encoder(input_ids=own, attention_mask=mask.long(), **more).last_hidden_state
        return hidden.float()

    def save(self, folder: Path, tokenizer_file: Path) -> None:
        """Leave in `folder` what this class loads, scores included."""
        self.encoder.save_pretrained(folder)
        save_heads(self, folder / HEADS)
        shutil.copy(tokenizer_file, folder / "tokenizer.json")


def save_heads(model: SpanReader, path: Path) -> None:
    """Write the scores' weights and biases; rows are those of `Scores`."""
    both = (model.span, model.passage)
    weight, bias = (
        np.concatenate([getattr(head, name).detach().cpu().numpy() for head in both]).astype(np.float32)
        for name in ("weight", "bias")
    )
    np.savez(path, weight=weight, bias=bias)


def blend(model: SpanReader, base: SpanReader, share: float, others: Sequence[dict[str, Tensor]] = ()) -> None:
    """Set the weights of `model` to the mean with those of `others`, and of that and `base`, of which `share` is kept.

    Weights between those before and after training have most of what the rows taught, and less of it at the expense of
    what was there (Wortsman et al., "Robust fine-tuning of zero-shot models", 2022, section 3); the mean of several
    runs is better than most of them (the same, "Model soups", 2022, section 3).
    """
    began = base.state_dict()
    with torch.no_grad():
        for name, weight in model.state_dict().items():
            if weight.is_floating_point():
                weight.copy_(torch.stack([weight, *(other[name] for other in others)]).mean(0).lerp(began[name], share))


def span_loss(scores: Scores, allowed: Tensor, starts: Tensor, ends: Tensor, searched: Tensor) -> Tensor:
    """The right spans' negative log-likelihood of each row, (batch,).

    `allowed` marks the passage's tokens and [CLS]; `starts` and `ends` mark the right ones. Where several are right
    their probabilities add up (the marginal likelihood of Clark and Gardner, 2018, section 2.2); for the rows that
    `searched` marks only the likeliest span among them counts (hard EM: Min et al., 2019, section 3).
    """
    found_starts, found_ends = _likeliest(scores, starts, ends)
    starts = torch.where(searched[:, None], found_starts, starts)
    ends = torch.where(searched[:, None], found_ends, ends)

    def missed(logits: Tensor, right: Tensor) -> Tensor:
        every = _among(logits, allowed).logsumexp(-1)
        return every - _among(logits, right).logsumexp(-1)

    return (missed(scores.start, starts) + missed(scores.end, ends)) / 2


def distance(scores: Scores, told: Scores, allowed: Tensor) -> Tensor:
    """How far `scores` are from a teacher's, (batch,): the spans' relative entropy at a higher temperature.

    Hinton, Vinyals and Dean, "Distilling the knowledge in a neural network", 2015, section 2, where the square of the
    temperature keeps the gradients' size.
    """

    def apart(ours: Tensor, theirs: Tensor) -> Tensor:
        ours, theirs = (_among(logits / TEMPERATURE, allowed).log_softmax(-1) for logits in (ours, theirs))
        return (theirs.exp() * (theirs - ours)).sum(-1) * TEMPERATURE**2

    return (apart(scores.start, told.start) + apart(scores.end, told.end)) / 2


def _among(logits: Tensor, marked: Tensor) -> Tensor:
    return logits.masked_fill(~marked, torch.finfo(logits.dtype).min)


def _likeliest(scores: Scores, starts: Tensor, ends: Tensor) -> tuple[Tensor, Tensor]:
    """One start and one end of each row, among those marked, as marks."""
    size = starts.shape[1]
    sums = scores.start.detach()[:, :, None] + scores.end.detach()[:, None, :]
    band = torch.ones(size, size, dtype=torch.bool, device=starts.device).triu()
    band &= ~band.triu(LONGEST_SEARCHED)
    fits = starts[:, :, None] & ends[:, None, :] & band
    best = sums.masked_fill(~fits, torch.finfo(sums.dtype).min).flatten(1).argmax(1)
    marks = nn.functional.one_hot
    return marks(best // size, size).bool(), marks(best % size, size).bool()
