"""The network: a BERT encoder; scores of each token to start and to end the answer; two scores of the passage."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from transformers import BertModel

HEADS = "heads.npz"  # beside an encoder whose scores were learnt already
LONGEST_SEARCHED = 12  # tokens of an answer that is only known to stand in a sentence


class Scores(NamedTuple):
    """Of each token to start and to end the answer, (batch, tokens); of the passage, (batch,)."""

    start: Tensor
    end: Tensor
    answered: Tensor
    relevant: Tensor


class SpanReader(nn.Module):
    """Scores from token ids and types; and, of single texts, the sentence vectors that the encoder came with."""

    def __init__(self, encoder: str | Path) -> None:
        super().__init__()
        # One pass over varied data does not overfit, and without dropout a step on a CPU takes two thirds of the time.
        self.encoder = BertModel.from_pretrained(
            encoder, attn_implementation="sdpa", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
        )
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
        hidden = self.encoder(input_ids=ids, token_type_ids=types, attention_mask=mask).last_hidden_state.float()
        with torch.autocast(hidden.device.type, enabled=False):
            start, end = self.span(hidden).unbind(-1)
            answered, relevant = self.passage(hidden[:, 0]).unbind(-1)
            return Scores(start, end, answered, relevant)

    def embed(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Unit vectors of single texts, (batch, width)."""
        hidden = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state.float()
        means = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return nn.functional.normalize(means, dim=-1)


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
    """The mean over the batch of the right spans' negative log-likelihood.

    `allowed` marks the passage's tokens and [CLS]; `starts` and `ends` mark the right ones. Where several are right
    their probabilities add up (the marginal likelihood of Clark and Gardner, 2018, section 2.2); for the rows that
    `searched` marks only the likeliest span among them counts (hard EM: Min et al., 2019, section 3).
    """
    found_starts, found_ends = _likeliest(scores, starts, ends)
    starts = torch.where(searched[:, None], found_starts, starts)
    ends = torch.where(searched[:, None], found_ends, ends)

    def missed(logits: Tensor, right: Tensor) -> Tensor:
        low = torch.finfo(logits.dtype).min
        every = logits.masked_fill(~allowed, low).logsumexp(-1)
        return every - logits.masked_fill(~right, low).logsumexp(-1)

    return ((missed(scores.start, starts) + missed(scores.end, ends)) / 2).mean()


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
