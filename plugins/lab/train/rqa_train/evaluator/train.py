"""Train an evaluator: its loss and its metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from robust_qa import RqaError
from robust_qa.kit import even_batches
from rqa_t5.pairs import Pair

from .. import loop
from ..metrics import auc
from .checkpoints import Checkpoint
from .examples import Example

_BATCH_TOKENS = {"cpu": 2048, "cuda": 65_536}  # tokens of one forward pass
_METRIC = "AUC on the held-out questions"


@dataclass(frozen=True)
class Plan(loop.Plan):
    """Hyperparameters of a run."""

    epochs: float = 3.0
    rate: float = 1e-4  # appendix B.3's code: 1e-4 for T5-large
    patience: int = 4


@dataclass(frozen=True)
class Sample:
    """A tokenised pair and its target."""

    pair: Pair
    target: float


def encode(checkpoint: Checkpoint, examples: Sequence[Example]) -> list[Sample]:
    """Tokenise the examples."""
    pairing = checkpoint.pairing()
    return [Sample(pairing.pair(example.question, example.text), example.target) for example in examples]


def train(
    checkpoint: Checkpoint,
    samples: Sequence[Sample],
    held_out: Sequence[Sample],
    folder: Path,
    *,
    plan: Plan,
    model_options: Mapping[str, object],
    say: Callable[[str], None],
) -> None:
    """Train the model in place and restore its weights with the best AUC on `held_out`; see `loop.train`.

    A run with other `model_options` is another run.
    """
    settings = {**asdict(plan), **model_options}, checkpoint.settings, checkpoint.tokenizer.to_str()
    signature = loop.signature(settings, [checkpoint.model], ((one.pair.ids, one.target) for one in samples))
    checkpoint.model.to(loop.device())

    def measure() -> dict[str, float]:
        scores = logits(checkpoint, [sample.pair for sample in held_out])
        if not np.isfinite(scores).all():
            raise RqaError("Training diverged.", hint="Use a lower --rate.")
        return {_METRIC: auc(scores, [sample.target > 0 for sample in held_out])}

    loop.train(
        checkpoint.model,
        [len(sample.pair.ids) for sample in samples],
        folder,
        plan,
        signature=signature,
        backward=lambda batch, done: _backward(checkpoint, [samples[n] for n in batch]),
        measure=measure,
        target=_METRIC,
        say=say,
    )
    checkpoint.model.to("cpu").eval()


def logits(checkpoint: Checkpoint, pairs: Sequence[Pair]) -> list[float]:
    """Return torch's logits of `pairs`, on the model's device."""
    device = checkpoint.model.device.type
    found = [0.0] * len(pairs)
    checkpoint.model.eval()
    with torch.inference_mode(), torch.autocast(device, dtype=torch.bfloat16):
        for group in even_batches([len(pair.ids) for pair in pairs], _BATCH_TOKENS[device], 1):
            for n, logit in zip(group, checkpoint.logits([pairs[n] for n in group]).tolist(), strict=True):
                found[n] = logit
    return found


def _backward(checkpoint: Checkpoint, batch: Sequence[Sample]) -> float:
    """Accumulate the gradient of `batch` over groups of similar length. Returns the loss."""
    device = checkpoint.model.device.type
    total = 0.0
    for group in even_batches([len(sample.pair.ids) for sample in batch], _BATCH_TOKENS[device], 1):
        with torch.autocast(device, dtype=torch.bfloat16):
            found = checkpoint.logits([batch[n].pair for n in group])
        targets = torch.tensor([batch[n].target for n in group], device=device)
        if checkpoint.settings.activation == "linear":
            losses = functional.mse_loss(found, targets, reduction="sum")
        else:
            losses = functional.binary_cross_entropy_with_logits(found, (targets + 1) / 2, reduction="sum")
        loss = losses / len(batch)
        loss.backward()
        total += float(loss.detach())
    return total
