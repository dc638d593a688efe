"""The training loop: seeded, mixed precision, checkpoints, resuming and early stopping."""

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

from robust_qa import InputError, RqaError
from robust_qa.kit import even_batches
from rqa_t5.pairs import Pair

from .checkpoints import Checkpoint
from .examples import Example
from .thresholds import auc

STATE, BEST = "checkpoint.pt", "best.pt"  # in the run's folder: the state for resuming, and the best weights

_BATCH_TOKENS = {"cpu": 2048, "cuda": 65_536}  # tokens of one forward pass
_LOG_SECONDS = 10.0
_THREADS = torch.get_num_threads()  # CTranslate2 later reduces it to 1


@dataclass(frozen=True)
class TrainingOptions:
    """Hyperparameters of a run."""

    epochs: float = 3.0
    batch: int = 32  # pairs in a step
    rate: float = 1e-4  # peak learning rate (appendix B.3's code: 1e-4 for T5-large)
    warmup: float = 0.05  # share of the steps with a rising rate
    seed: int = 13
    patience: int = 4  # evaluations without improvement before stopping; 0: never stop
    measure_every: int = 0  # steps between evaluations and checkpoints; 0: a twentieth of the run
    trust: float = 0.5  # weight of a teacher's score in the target of a labelled pair


@dataclass
class _State:
    step: int = 0
    best: float = float("-inf")
    stale: int = 0  # evaluations since the best one


@dataclass(frozen=True)
class Sample:
    """A tokenised pair and its target."""

    pair: Pair
    target: float


def encode(checkpoint: Checkpoint, examples: Sequence[Example], trust: float) -> list[Sample]:
    """Tokenise the examples."""
    pairing = checkpoint.pairing()
    return [Sample(pairing.pair(example.question, example.text), example.target(trust)) for example in examples]


def train(
    checkpoint: Checkpoint,
    samples: Sequence[Sample],
    held_out: Sequence[Sample],
    folder: Path,
    *,
    options: TrainingOptions,
    model_options: Mapping[str, object],
    say: Callable[[str], None],
) -> float:
    """Train the model in place and restore the best weights. Returns their AUC on `held_out`.

    A run that was interrupted continues from the state in `folder`, with the same result. Raises InputError if that
    state is damaged, or if it belongs to other options, rows or models; `model_options` are part of the comparison.
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_num_threads(_THREADS)
    total = max(1, round(len(samples) * options.epochs / options.batch))
    interval = options.measure_every or max(1, total // 20)
    signature = _signature({**asdict(options), **model_options}, checkpoint, samples)
    model = checkpoint.model.to(device)
    optimiser = _optimiser(model, options)
    state = _resume(folder, signature, model, optimiser)
    say(f"{len(samples):,} pairs, {total:,} steps of {options.batch} on {device}, from step {state.step:,}")
    logged, since, losses = time.monotonic(), state.step, []
    for batch in _batches(samples, options, state.step, total):
        if options.patience and state.stale >= options.patience:
            say(f"no improvement in {state.stale} evaluations: stopped at step {state.step:,}")
            break
        for group in optimiser.param_groups:
            group["lr"] = options.rate * _schedule(state.step, total, options)
        losses.append(_backward(checkpoint, batch, device, seed=options.seed * 1_000_003 + state.step))
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        state.step += 1
        if (now := time.monotonic()) - logged >= _LOG_SECONDS:
            left = (total - state.step) * (now - logged) / (state.step - since) / 60
            say(f"step {state.step:,}/{total:,}  loss {np.mean(losses):.3f}  {left:.0f} min left at most")
            logged, since, losses = now, state.step, []
        if state.step % interval == 0 or state.step == total:
            _evaluate(checkpoint, held_out, folder, state, say)
            _save(folder / STATE, {
                "signature": signature, **asdict(state),
                "model": model.state_dict(), "optimiser": optimiser.state_dict(),
            })  # fmt: skip
    model.load_state_dict(_load(folder / BEST, device))
    checkpoint.model.to("cpu").eval()
    return state.best


def _evaluate(
    checkpoint: Checkpoint, held_out: Sequence[Sample], folder: Path, state: _State, say: Callable[[str], None]
) -> None:
    scores = logits(checkpoint, [sample.pair for sample in held_out])
    if not np.isfinite(scores).all():
        raise RqaError(f"Training diverged before step {state.step:,}.", hint="Use a lower --rate.")
    found = auc(scores, [sample.target > 0 for sample in held_out])
    # Without both kinds of texts the AUC is NaN: keep the latest weights.
    better = not found <= state.best
    state.best, state.stale = (found, 0) if better else (state.best, state.stale + 1)
    if better:
        _save(folder / BEST, checkpoint.model.state_dict())
    say(f"step {state.step:,}  AUC on the held-out questions {found:.4f}{'  (best)' if better else ''}")


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


def _backward(checkpoint: Checkpoint, batch: Sequence[Sample], device: str, *, seed: int) -> float:
    """Accumulate the gradient of `batch` over groups of similar length. A seed for each step fixes dropout."""
    torch.manual_seed(seed)
    checkpoint.model.train()
    checkpoint.model.zero_grad(set_to_none=True)
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


def _optimiser(model: Any, options: TrainingOptions) -> torch.optim.AdamW:
    decayed = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim <= 1]
    return torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}],
        lr=options.rate,
        fused=True,
    )


def _batches(samples: Sequence[Sample], options: TrainingOptions, first: int, total: int) -> Iterator[list[Sample]]:
    """Yield the batches from step `first` on. Their order depends only on the seed."""
    step, epoch = 0, 0
    while step < total:
        order = list(range(len(samples)))
        random.Random(options.seed * 1000 + epoch).shuffle(order)
        for at in range(0, len(order), options.batch):
            if first <= step < total:
                yield [samples[n] for n in order[at : at + options.batch]]
            step += 1
        epoch += 1


def _schedule(step: int, total: int, options: TrainingOptions) -> float:
    rise = max(1, int(total * options.warmup))
    return (step + 1) / rise if step < rise else max(0.0, (total - step) / max(1, total - rise))


def _signature(options: Mapping[str, object], checkpoint: Checkpoint, samples: Sequence[Sample]) -> str:
    digest = hashlib.sha256(repr((sorted(options.items()), checkpoint.settings)).encode())
    digest.update(checkpoint.tokenizer.to_str().encode())
    for name, weights in checkpoint.model.state_dict().items():
        digest.update(repr((name, weights.shape)).encode())
        digest.update(weights.detach().contiguous().numpy())
    for sample in samples:
        digest.update(repr((sample.pair.ids, sample.target)).encode())
    return digest.hexdigest()


def _save(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    torch.save(content, part)
    part.replace(path)  # atomic: an interruption leaves the old file


def _load(path: Path, device: Any) -> Any:
    """Load what `_save` wrote. Raises InputError if the file is missing or damaged."""
    try:
        return torch.load(path, weights_only=True, map_location=device)
    except Exception as error:  # torch raises many kinds of errors
        raise InputError(
            f"{path} is missing or damaged: the run cannot continue.",
            hint=f"Delete {path.with_name(STATE)} to start again.",
        ) from error


def _resume(folder: Path, signature: str, model: Any, optimiser: torch.optim.Optimizer) -> _State:
    path = folder / STATE
    if not path.exists():
        return _State()
    saved = _load(path, model.device)
    if saved["signature"] != signature:
        raise InputError(
            f"{path} belongs to a run with other options, other rows or another model.",
            hint="Use the same options and rows, give another folder, or delete the file.",
        )
    _load(folder / BEST, "cpu")  # fail now and not at the end
    model.load_state_dict(saved["model"])
    optimiser.load_state_dict(saved["optimiser"])
    return _State(saved["step"], saved["best"], saved["stale"])
