"""The training loop: seeded, in mixed precision, saved as it goes, resumed where it stopped, ended when it is done."""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from robust_qa import InputError
from robust_qa.kit import even_batches

from ..pairs import Pair
from ..thresholds import auc
from .checkpoints import Checkpoint
from .examples import Example

STATE, BEST = "checkpoint.pt", "best.pt"  # in a run's folder: what it goes on from, and the weights it ends with

_PIECE = {"cpu": 2048, "cuda": 65_536}  # tokens whose gradient is computed at once
_SAY_EVERY = 10.0  # seconds
_THREADS = torch.get_num_threads()  # CTranslate2, once a teacher is loaded, has told OpenMP to use one


@dataclass(frozen=True)
class Plan:
    """How to train."""

    epochs: float = 3.0
    batch: int = 32  # pairs a step
    rate: float = 1e-4  # peak learning rate (appendix B.3's code: 1e-4 for T5-large)
    warmup: float = 0.05  # share of the steps in which the rate rises
    seed: int = 13
    patience: int = 4  # measurements without a better one, after which training ends; 0: never
    measure_every: int = 0  # steps between measurements, each of which is also saved; 0: a twentieth of the run
    trust: float = 0.5  # share of a teacher's score in the target of a pair that has a label, too


@dataclass
class _State:
    step: int = 0
    best: float = float("-inf")
    stale: int = 0


@dataclass(frozen=True)
class Sample:
    """A pair as the model reads it, and its target."""

    pair: Pair
    target: float


def encode(checkpoint: Checkpoint, examples: Sequence[Example], trust: float) -> list[Sample]:
    """The model's inputs, with their targets."""
    pairing = checkpoint.pairing()
    return [Sample(pairing.pair(example.question, example.text), example.target(trust)) for example in examples]


def train(
    checkpoint: Checkpoint,
    samples: Sequence[Sample],
    held: Sequence[Sample],
    folder: Path,
    *,
    plan: Plan,
    made: Mapping[str, object],
    say: Callable[[str], None],
) -> float:
    """Train the checkpoint's model in place, and return the AUC on `held` of the weights it ends with: the best.

    The state is in `folder`: a run that was killed goes on from its last measurement, and ends as it would have.
    Raises InputError when the state is damaged, or of a run with another plan, other rows, or another model, also by
    what was `made`.
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_num_threads(_THREADS)
    total = max(1, round(len(samples) * plan.epochs / plan.batch))
    every = plan.measure_every or max(1, total // 20)
    signature = _signature({**asdict(plan), **made}, checkpoint, samples)
    model = checkpoint.model.to(device)
    optimiser = _optimiser(model, plan)
    state = _resume(folder, signature, model, optimiser)
    say(f"{len(samples):,} pairs, {total:,} steps of {plan.batch} on {device}, from step {state.step:,}")
    said, since, losses = time.monotonic(), state.step, []
    for batch in _batches(samples, plan, state.step, total):
        if plan.patience and state.stale >= plan.patience:
            say(f"no better for {state.stale} measurements: done at step {state.step:,}")
            break
        for group in optimiser.param_groups:
            group["lr"] = plan.rate * _schedule(state.step, total, plan)
        losses.append(_descend(checkpoint, batch, device, seed=plan.seed * 1_000_003 + state.step))
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        state.step += 1
        if (now := time.monotonic()) - said >= _SAY_EVERY:
            left = (total - state.step) * (now - said) / (state.step - since) / 60
            say(f"step {state.step:,}/{total:,}  loss {np.mean(losses):.3f}  {left:.0f} min left at most")
            said, since, losses = now, state.step, []
        if state.step % every == 0 or state.step == total:
            _measure(checkpoint, held, folder, state, say)
            _save(folder / STATE, {
                "signature": signature, **asdict(state),
                "model": model.state_dict(), "optimiser": optimiser.state_dict(),
            })  # fmt: skip
    model.load_state_dict(_loaded(folder / BEST, device))
    checkpoint.model.to("cpu").eval()
    return state.best


def _measure(
    checkpoint: Checkpoint, held: Sequence[Sample], folder: Path, state: _State, say: Callable[[str], None]
) -> None:
    found = auc(logits(checkpoint, [sample.pair for sample in held]), [sample.target > 0 for sample in held])
    # Without texts of both kinds there is nothing to choose by: the latest weights count as the best.
    better = not found <= state.best
    state.best, state.stale = (found, 0) if better else (state.best, state.stale + 1)
    if better:
        _save(folder / BEST, checkpoint.model.state_dict())
    say(f"step {state.step:,}  AUC on the held-out questions {found:.4f}{'  (best)' if better else ''}")


def logits(checkpoint: Checkpoint, pairs: Sequence[Pair]) -> list[float]:
    """The logits of `pairs` in torch, in order, wherever the model is."""
    device = checkpoint.model.device.type
    found = [0.0] * len(pairs)
    checkpoint.model.eval()
    with torch.inference_mode(), torch.autocast(device, dtype=torch.bfloat16):
        for group in even_batches([len(pair.ids) for pair in pairs], _PIECE[device], 1):
            for n, logit in zip(group, checkpoint.logits([pairs[n] for n in group]).tolist(), strict=True):
                found[n] = logit
    return found


def _descend(checkpoint: Checkpoint, batch: Sequence[Sample], device: str, *, seed: int) -> float:
    """Add up the gradient of `batch` in pieces of like length. The seed is the step's, so dropout is repeatable."""
    torch.manual_seed(seed)
    checkpoint.model.train()
    checkpoint.model.zero_grad(set_to_none=True)
    total = 0.0
    for group in even_batches([len(sample.pair.ids) for sample in batch], _PIECE[device], 1):
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


def _optimiser(model: Any, plan: Plan) -> torch.optim.AdamW:
    fading = [p for p in model.parameters() if p.ndim > 1]
    plain = [p for p in model.parameters() if p.ndim <= 1]
    return torch.optim.AdamW(
        [{"params": fading, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}], lr=plan.rate, fused=True
    )


def _batches(samples: Sequence[Sample], plan: Plan, first: int, total: int) -> Iterator[list[Sample]]:
    """The batches from step `first` on, in an order that depends on the seed and the step alone."""
    step, epoch = 0, 0
    while step < total:
        order = list(range(len(samples)))
        random.Random(plan.seed * 1000 + epoch).shuffle(order)
        for at in range(0, len(order), plan.batch):
            if first <= step < total:
                yield [samples[n] for n in order[at : at + plan.batch]]
            step += 1
        epoch += 1


def _schedule(step: int, total: int, plan: Plan) -> float:
    rise = max(1, int(total * plan.warmup))
    return (step + 1) / rise if step < rise else max(0.0, (total - step) / max(1, total - rise))


def _signature(options: Mapping[str, object], checkpoint: Checkpoint, samples: Sequence[Sample]) -> str:
    digest = hashlib.sha256(repr((sorted(options.items()), checkpoint.settings)).encode())
    digest.update(checkpoint.tokenizer.to_str().encode())
    for name, weights in checkpoint.model.state_dict().items():  # as they are before the first step
        digest.update(repr((name, weights.shape)).encode())
        digest.update(weights.detach().contiguous().numpy())
    for sample in samples:
        digest.update(repr((sample.pair.ids, sample.target)).encode())
    return digest.hexdigest()


def _save(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    torch.save(content, part)
    part.replace(path)  # a kill in between leaves the one before


def _loaded(path: Path, device: Any) -> Any:
    """What `_save` wrote. Raises InputError where it is not there or damaged."""
    try:
        return torch.load(path, weights_only=True, map_location=device)
    except Exception as error:  # torch has another for each kind of damage
        raise InputError(
            f"{path} is damaged, or not there: the run cannot go on.",
            hint=f"Delete {path.with_name(STATE)} to begin anew.",
        ) from error


def _resume(folder: Path, signature: str, model: Any, optimiser: torch.optim.Optimizer) -> _State:
    path = folder / STATE
    if not path.exists():
        return _State()
    saved = _loaded(path, model.device)
    if saved["signature"] != signature:
        raise InputError(
            f"{path} is of a run with other options, other rows or another model.",
            hint="Continue it with what it was begun with, name another folder, or delete that file.",
        )
    _loaded(folder / BEST, "cpu")  # what is wrong with it is told now, not at the end
    model.load_state_dict(saved["model"])
    optimiser.load_state_dict(saved["optimiser"])
    return _State(saved["step"], saved["best"], saved["stale"])
